import { existsSync, lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { replaceFile } from '../../base/replaceFile.ts';
import { temporaryFolder } from '../support/folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

test('a replaced file is readable only by its owner, and nothing is left next to it', async () => {
  const path = join(folder.path, 'run.json');
  await replaceFile(path, 'one');
  await replaceFile(path, 'two');
  expect(readFileSync(path, 'utf8')).toBe('two');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(existsSync(`${path}.new`)).toBe(false);
});

test.each(['run.json', 'run.json.new'])(
  'replacing a file follows no link planted at %s',
  async (name) => {
    const [mine, path] = [join(folder.path, 'mine'), join(folder.path, 'run.json')];
    writeFileSync(mine, 'mine');
    symlinkSync(mine, join(folder.path, name));
    await replaceFile(path, 'two');
    expect(readFileSync(mine, 'utf8')).toBe('mine');
    expect([lstatSync(path).isFile(), readFileSync(path, 'utf8')]).toEqual([true, 'two']);
  },
);
