/**
 * The page of a run in a separate process (`run --page`): the same as `millrace view`, so that no browser
 * request takes time from the job. It ends with the run, even if that is killed: its input ends then.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ownCommand } from './ownCommand.ts';

export interface PageOptions {
  readonly run: string;
  /** Absolute. */
  readonly runs: string;
  /** Undefined = the usual one, or the next free one. */
  readonly port: number | undefined;
  /** Called with its address, or why there is none: the run goes on without it. */
  readonly said: (line: string) => void;
}

export interface PageBeside {
  close(): Promise<void>;
}

export const noPage: PageBeside = { close: () => Promise.resolve() };

const END_MS = 2_000;

export function pageBeside({ run, runs, port, said }: PageOptions): PageBeside {
  const where = port === undefined ? [] : ['--port', String(port)];
  // Ctrl-C is the run's, and the page stays until that is at its end.
  const child = ownCommand(['view', run, '--runs', runs, '--beside', ...where]);
  child.stdout.resume();
  child.on('error', (error) => said(`no page: ${error.message}`));
  child.stdin.on('error', () => undefined);
  const lines = createInterface({ input: child.stderr });
  lines.on('line', (line) => {
    if (!line.startsWith('runs of ')) said(line);
  });
  return {
    async close() {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
      const ended = once(child, 'exit');
      const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
      child.stdin.end();
      await ended;
      clearTimeout(timer);
    },
  };
}
