/**
 * `npm ci` takes everything from the registry and says nothing: no install script of a dependency runs.
 *
 * npm 11 asks `allowScripts` in package.json. npm 10 knows no such list, but runs only the scripts that the lock file
 * announces. That of onnxruntime-node must not run: it downloads CUDA libraries, and fails where NuGet is out of reach.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

interface Locked {
  readonly hasInstallScript?: boolean;
}

const { allowScripts } = json('package.json') as {
  readonly allowScripts: Readonly<Record<string, boolean>>;
};
const { packages } = json('package-lock.json') as {
  readonly packages: Readonly<Record<string, Locked>>;
};
const announced = Object.entries(packages)
  .filter(([, { hasInstallScript }]) => hasInstallScript)
  .map(([path]) => path.split('node_modules/').at(-1)!);

test('package.json says of every install script whether it may run, so that npm 11 does not warn', () => {
  expect(announced).not.toEqual([]);
  expect(announced.filter((name) => !(name in allowScripts))).toEqual([]);
});

test('the lock file does not announce the script of onnxruntime-node, so that npm 10 does not run it', () => {
  // After npm has made the lock file from nothing, delete "hasInstallScript" of this package.
  expect(packages).toHaveProperty(['node_modules/onnxruntime-node']);
  expect(announced).not.toContain('onnxruntime-node');
  expect(allowScripts['onnxruntime-node']).toBe(false);
});

function json(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
