/** The command line as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Command {
  readonly process: ChildProcess;
  /** What it has said on stderr so far. */
  readonly said: string;
  /** Its exit code; null when a signal ended it. */
  readonly code: Promise<number | null>;
}

/** `millrace …`, from the sources. */
export function millrace(...args: readonly string[]): Command {
  const child = spawn(process.execPath, ['--import', 'tsx', 'cli/main.ts', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  return {
    process: child,
    get said() {
      return said;
    },
    code: once(child, 'close').then(([code]) => code as number | null),
  };
}
