/**
 * The process as `Io`. A reader that goes away (`| head`) ends the process quietly with 0.
 */
import { systemClock } from '../streams/clock.ts';
import type { Io } from './io.ts';

export function processIo(): Io {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0);
      throw error;
    });
  }
  return {
    cwd: process.cwd(),
    clock: systemClock,
    terminal: process.stderr.isTTY === true,
    out: (text) => new Promise((resolve) => void process.stdout.write(text, () => resolve())),
    err: (line) => void process.stderr.write(`${line}\n`),
    onInterrupt(handler) {
      process.on('SIGINT', handler);
      process.on('SIGTERM', handler);
      return () => {
        process.off('SIGINT', handler);
        process.off('SIGTERM', handler);
      };
    },
    exit: (code) => process.exit(code),
  };
}
