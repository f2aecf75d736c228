/** Folders are made with those above them, or the reason is a sentence. */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { canWrite, makeFolder } from '../../base/makeFolder.ts';
import { freshFolders } from '../support/folder.ts';
import { mounted, noMounts } from '../support/mounted.ts';

const fresh = freshFolders();

test('making a folder makes its parents, and may be repeated', async () => {
  const path = join(fresh(), 'a', 'b', 'c');
  await makeFolder(path);
  await makeFolder(path);
  await Promise.all([makeFolder(join(path, 'd', 'e')), makeFolder(join(path, 'd', 'e'))]);
  expect(statSync(join(path, 'd', 'e')).isDirectory()).toBe(true);
});

test('a file where a folder should be is named in the error', async () => {
  const file = join(fresh(), 'file');
  writeFileSync(file, '');
  await expect(makeFolder(file)).rejects.toMatchObject({
    code: 'FOLDER',
    message: `the folder ${file} cannot be created: it already exists (EEXIST)`,
  });
  await expect(makeFolder(join(file, 'a', 'b'))).rejects.toThrow(
    /cannot be created: part of the path is a file, not a folder \(ENOTDIR\)$/,
  );
});

(existsSync('/proc/self') ? test : test.skip)(
  'an error says that procfs takes no folders',
  async () => {
    await expect(makeFolder('/proc/millrace/a/b')).rejects.toThrow(
      'the folder /proc/millrace cannot be created: this file system does not allow new folders',
    );
  },
);

(noMounts === null ? test : test.skip)(
  `a read-only file system is told, also where the folder is there${noMounts ? `: ${noMounts}` : ''}`,
  async () => {
    const { path, remove } = mounted('ro');
    try {
      await expect(makeFolder(join(path, 'a', 'b'))).rejects.toThrow(/read-only \(EROFS\)$/);
      await expect(makeFolder(path)).rejects.toThrow(
        /cannot be written to: .*read-only \(EROFS\)$/,
      );
      expect(await canWrite(path)).toBe(false);
    } finally {
      remove();
    }
  },
);
