/**
 * A Python with the packages that a yardstick test compares with, if there is one.
 *
 * `MILLRACE_PYTHON` names the interpreter, else `python3` is tried. A test without it is skipped, and its
 * title says why.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from '@jest/globals';

export interface Python {
  /** Runs a script with arguments; what it prints last is JSON. Throws with its stderr when it fails. */
  run(script: string, ...args: readonly string[]): unknown;
}

function find(modules: readonly string[]): string | { readonly missing: string } {
  const path = process.env.MILLRACE_PYTHON ?? 'python3';
  const script = modules
    .map((module) => `import importlib.util as u; assert u.find_spec("${module}"), "${module}"`)
    .join('\n');
  const { status, error } = spawnSync(path, ['-c', script], { stdio: 'ignore' });
  if (status === 0) return path;
  const why = error === undefined ? `lacks ${modules.join(', ')}` : 'is not there';
  return { missing: `${path} ${why}; name one that has them in MILLRACE_PYTHON` };
}

/** `test` with a Python that has these modules, or a skipped test whose title says what is missing. */
export function yardstick(
  modules: readonly string[],
): (title: string, body: (python: Python) => Promise<void>) => void {
  const found = find(modules);
  if (typeof found !== 'string')
    return (title) => test.skip(`${title} (skipped: ${found.missing})`, () => undefined);
  const python: Python = {
    run(script, ...args) {
      const env = { ...process.env, OMP_NUM_THREADS: '1', TRANSFORMERS_VERBOSITY: 'error' };
      const out = execFileSync(found, [script, ...args], {
        env,
        encoding: 'utf8',
        maxBuffer: 1 << 28,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      return JSON.parse(out.trimEnd().split('\n').at(-1)!);
    },
  };
  return (title, body) => test(title, () => body(python), 300_000);
}
