/**
 * A Python with OpenEnv, and servers that run in it. `MILLRACE_OPENENV` names the interpreter, else that of
 * `MILLRACE_PYTHON` is tried; a test without it is skipped, and its title says why.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from '@jest/globals';

const path = process.env.MILLRACE_OPENENV ?? process.env.MILLRACE_PYTHON ?? 'python3';

export interface PythonServer {
  readonly url: string;
  /** SIGKILL, and wait until it is gone. */
  kill(): Promise<void>;
}

/** `test` with a Python that has these modules, or a skipped test whose title says what is missing. */
export function withOpenEnv(
  modules: readonly string[],
): (title: string, body: () => Promise<void>) => void {
  const { status, error } = spawnSync(path, ['-c', `import ${modules.join(', ')}`], {
    stdio: 'ignore',
  });
  if (status === 0) return (title, body) => test(title, body, 300_000);
  const why = error === undefined ? `lacks ${modules.join(' or ')}` : 'is not there';
  const missing = `${path} ${why}; name one that has them in MILLRACE_OPENENV`;
  return (title) => test.skip(`${title} (skipped: ${missing})`, () => undefined);
}

/** What a script prints. */
export function pythonSays(...args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(path, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/** Starts a script that serves by uvicorn, which says where. */
export async function pythonServer(...args: readonly string[]): Promise<PythonServer> {
  const child = spawn(path, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const said: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    const lines = createInterface({ input: child.stderr });
    lines.on('line', (line) => {
      const found = /running on (http:\/\/127\.0\.0\.1:\d+)/.exec(line);
      if (found !== null) resolve(found[1]!);
      else if (said.length < 1_000) said.push(line);
    });
    lines.on('close', () => reject(new Error(`the server ended:\n${said.join('\n')}`)));
  });
  return {
    url,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
