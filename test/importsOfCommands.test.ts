/** A command loads what it needs: which modules, not how long it takes. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'imports-'));
  // Writes down each module that is resolved, by a loader in a thread of its own.
  writeFileSync(
    join(folder, 'hook.mjs'),
    `import { appendFileSync } from 'node:fs';
     export async function resolve(name, context, next) {
       const found = await next(name, context);
       appendFileSync(new URL('seen', import.meta.url), found.url + '\\n');
       return found;
     }`,
  );
  writeFileSync(
    join(folder, 'register.mjs'),
    `import { register } from 'node:module'; register(${JSON.stringify(pathToFileURL(join(folder, 'hook.mjs')).href)});`,
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Packages and our own files that a command line loads. */
function loadedBy(...args: string[]): { readonly packages: string[]; readonly own: string[] } {
  writeFileSync(join(folder, 'seen'), '');
  const register = pathToFileURL(join(folder, 'register.mjs')).href;
  const command = ['--import', register, join(ROOT, 'dist', 'cli', 'main.js'), ...args];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  const seen = [...new Set(readFileSync(join(folder, 'seen'), 'utf8').trim().split('\n'))];
  const packages = seen.flatMap(
    (url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [],
  );
  const own = seen.flatMap((url) => /\/dist\/(.+)$/.exec(url)?.[1] ?? []);
  return {
    packages: [...new Set(packages)].sort(),
    own: own.filter((file) => !file.includes('node_modules')),
  };
}

test.each(['--version', '--help'])('millrace %s loads commander alone, and few files', (flag) => {
  const { packages, own } = loadedBy(flag);
  expect(packages).toEqual(['commander']);
  expect(own.length).toBeLessThan(80);
});

/** What commands that only look at a run have no use for. */
const HEAVY = [
  '@platformatic/kafka',
  'onnxruntime-node',
  'ajv',
  'yaml',
  'prom-client',
  'hyparquet',
];

test.each(['topics', 'tap', 'top', 'report', 'run', 'diff', 'doctor'])(
  'millrace %s --help loads no client of Kafka, no engine and no exporter',
  (name) => {
    const { packages } = loadedBy(name, '--help');
    expect(packages.filter((one) => HEAVY.includes(one))).toEqual([]);
  },
);
