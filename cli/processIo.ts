/**
 * The process as `Io`. If the reader of stdout goes away (`| head`), the process ends quietly with 0: no one
 * takes its results. If that of stderr does, a job or a server continues.
 */
import { constants, setPriority } from 'node:os';
import { about, endByInterrupt, stopSignals, systemClock } from '../base/index.ts';
import { terminalText } from '../base/text/index.ts';
import { exitCodes, failure } from './failure.ts';
import type { Io } from './io.ts';
import { programName } from './programName.ts';

/**
 * `timeout`, npm and some supervisors send a signal to the process and to its group: another one this soon is
 * the same.
 */
const ECHO_MS = 250;

/** A terminal with colours, unless NO_COLOR or TERM=dumb forbids it. */
function takesColour(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && stream.hasColors();
}

async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    lines.once('SIGINT', () => endByInterrupt());
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    return await Promise.race([lines.question(question), ended]);
  } finally {
    lines.close();
  }
}

export function processIo(): Io {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    const { code, message } = failure(about('standard output', error));
    process.stderr.write(`${message}\n`);
    process.exit(code);
  });
  process.stderr.on('error', () => undefined);
  const cwd = process.cwd();
  const path = process.env.PATH ?? '';
  return {
    cwd,
    program: programName({ script: process.argv[1] ?? '', cwd, path }),
    colour: { out: takesColour(process.stdout), err: takesColour(process.stderr) },
    clock: systemClock,
    terminal: process.stderr.isTTY === true,
    dumb: process.env.TERM === 'dumb',
    screen() {
      const { isTTY, columns, rows } = process.stdout;
      return isTTY === true && columns > 0 ? { columns, rows } : null;
    },
    onResize(handler) {
      process.stdout.on('resize', handler);
      return () => void process.stdout.off('resize', handler);
    },
    out: (text) => new Promise((resolve) => void process.stdout.write(text, () => resolve())),
    err: (line) => void process.stderr.write(`${terminalText(line)}\n`),
    onInterrupt(handler) {
      let heardMs = Number.NEGATIVE_INFINITY;
      const hear = () => {
        const nowMs = performance.now();
        if (nowMs - heardMs < ECHO_MS) return;
        heardMs = nowMs;
        handler();
      };
      for (const signal of stopSignals) process.on(signal, hear);
      return () => {
        for (const signal of stopSignals) process.off(signal, hear);
      };
    },
    ...(process.stdin.isTTY === true && process.stderr.isTTY === true ? { ask } : {}),
    onInputEnd(handler) {
      process.stdin.on('end', handler).on('error', handler).resume();
    },
    giveWay() {
      try {
        setPriority(constants.priority.PRIORITY_LOW);
      } catch {
        // If the system does not allow it, all have the same priority.
      }
    },
    exit: (code) => (code === exitCodes.interrupted ? endByInterrupt() : process.exit(code)),
  };
}
