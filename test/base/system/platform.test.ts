/** What the system says about processes, and that only base/system/platform.ts asks it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import {
  commandLineOf,
  isRunning,
  residentBytes,
  startOf,
  syncFolder,
} from '../../../base/system/platform.ts';
import { freshFolders } from '../../support/folder.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const onLinux = process.platform === 'linux' ? test : test.skip;
const fresh = freshFolders();

test('a process runs until it has ended', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: 'pipe' });
  await once(child, 'spawn');
  expect([isRunning(process.pid), isRunning(child.pid!)]).toEqual([true, true]);
  child.stdin.end();
  await once(child, 'close');
  expect(isRunning(child.pid!)).toBe(false);
});

onLinux('Linux tells when it began, how large it is and what it was started with', () => {
  expect(startOf(process.pid)).toMatch(/^\d+$/);
  expect(residentBytes(process.pid)).toBeGreaterThan(1e6);
  expect(commandLineOf(process.pid)[0]).toContain('node');
});

test('nothing is known of a process that does not exist', () => {
  const none = 2 ** 22 + 1;
  expect([isRunning(none), startOf(none), residentBytes(none), commandLineOf(none)]).toEqual([
    ...[false, '', null],
    [],
  ]);
});

test('a folder can be synced to disk', async () => {
  await expect(syncFolder(fresh())).resolves.toBeUndefined();
});

test('no other module asks for the operating system, reads /proc or sends signal 0', () => {
  const folders = [
    'base',
    'streams',
    'model',
    'operators',
    'sources',
    'sinks',
    'jobs',
    'summary',
    'page',
    'topics',
    'jinja',
    'api',
    'cli',
    'testing',
  ];
  const files = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.m?ts$/.test(file))
      .map((file) => join(folder, file)),
  );
  const asking = files.filter((file) =>
    /process\.platform|['"`]\/proc\/|process\.kill\(/.test(readFileSync(join(ROOT, file), 'utf8')),
  );
  expect(asking).toEqual([join('base', 'system', 'platform.ts')]);
});
