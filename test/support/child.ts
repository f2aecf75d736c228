/** A child process that runs a TypeScript file of the tests, and the lines that it prints. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';

export interface Child {
  readonly process: ChildProcess;
  readonly lines: Interface;
  /** The next line on its stdout; rejects when it ends without one. */
  line(): Promise<string>;
  /** SIGKILL, and wait until it is gone. Nothing when it is gone already. */
  kill(): Promise<void>;
}

/** `file` is an absolute path; the child's stderr is ours. */
export function startChild(file: string, ...args: readonly string[]): Child {
  const child = spawn(process.execPath, ['--import', 'tsx', file, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout! });
  const waiting: string[] = [];
  let wake = (): void => undefined;
  let ended = false;
  lines.on('line', (line) => {
    waiting.push(line);
    wake();
  });
  lines.on('close', () => {
    ended = true;
    wake();
  });
  return {
    process: child,
    lines,
    async line() {
      while (waiting.length === 0) {
        if (ended) throw new Error(`${file} ended without another line`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return waiting.shift()!;
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
