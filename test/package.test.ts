/**
 * `npm ci` takes everything from the registry and says nothing: no install script of a dependency runs. Nor
 * does that of onnxruntime-node where this package is a dependency itself (.ci/installed tries it with npm).
 *
 * npm 11 asks `allowScripts` in package.json. npm 10 knows no such list, but runs only the scripts that the
 * lock file announces. That of onnxruntime-node must not run: it downloads CUDA libraries, and fails where
 * NuGet is out of reach.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

interface Locked {
  readonly hasInstallScript?: boolean;
  readonly integrity?: string;
  readonly link?: boolean;
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

test('the lock file has the integrity of every package, those of other platforms too', () => {
  // Where npm leaves one out: `npm view NAME@VERSION dist.integrity`.
  const without = Object.entries(packages)
    .filter(([path, { integrity, link }]) => path !== '' && !link && integrity === undefined)
    .map(([path]) => path);
  expect(without).toEqual([]);
});

test('the lock file does not announce the script of onnxruntime-node, so that npm 10 does not run it', () => {
  // After npm has made the lock file from nothing, delete "hasInstallScript" of this package.
  expect(packages).toHaveProperty(['node_modules/onnxruntime-node']);
  expect(announced).not.toContain('onnxruntime-node');
  expect(allowScripts['onnxruntime-node']).toBe(false);
});

describe('preinstall, next to the package of onnxruntime-node', () => {
  const root = mkdtempSync(join(tmpdir(), 'millrace package '));
  const [scripts, theirs] = ['millrace/scripts', 'onnxruntime-node/script'].map((path) =>
    join(root, 'node_modules', path),
  ) as [string, string];
  const script = join(theirs, 'install.js');
  const preinstall = () => spawnSync(process.execPath, [join(scripts, 'preinstall.js')]).status;
  /** What their script prints as npm runs it, or by hand (`event` null). */
  const asked = (event: string | null, more: Readonly<Record<string, string>> = {}): string => {
    const { npm_lifecycle_event: _, ...env } = process.env;
    const { stdout } = spawnSync(process.execPath, [script], {
      env: { ...env, ...(event === null ? {} : { npm_lifecycle_event: event }), ...more },
      encoding: 'utf8',
    });
    return stdout;
  };

  beforeAll(() => {
    mkdirSync(scripts, { recursive: true });
    mkdirSync(theirs, { recursive: true });
    copyFileSync('scripts/preinstall.js', join(scripts, 'preinstall.js'));
    writeFileSync(join(root, 'node_modules/millrace/package.json'), '{"type":"module"}');
    writeFileSync(script, "'use strict';\nconsole.log('asks NuGet');\n");
  });
  afterAll(() => rmSync(root, { recursive: true }));

  test('keeps its install script from asking NuGet, unless it is run on purpose', () => {
    expect(asked('postinstall')).toBe('asks NuGet\n');
    expect(preinstall()).toBe(0);
    expect(asked('postinstall')).toBe('');
    expect(asked('postinstall', { ONNXRUNTIME_NODE_INSTALL: 'cuda12' })).toBe('asks NuGet\n');
    expect(asked(null)).toBe('asks NuGet\n');
  });

  test('changes nothing the second time, and never fails', () => {
    expect(preinstall()).toBe(0);
    const changed = readFileSync(script, 'utf8');
    expect([preinstall(), readFileSync(script, 'utf8')]).toEqual([0, changed]);
    rmSync(theirs, { recursive: true });
    expect(preinstall()).toBe(0);
  });

  test('is packed, and run by npm', () => {
    const { files, scripts: run } = json('package.json') as {
      readonly files: readonly string[];
      readonly scripts: Readonly<Record<string, string>>;
    };
    expect(files).toContain('scripts/preinstall.js');
    expect(run.preinstall).toBe('node scripts/preinstall.js');
  });
});

function json(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
