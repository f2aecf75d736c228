/** What the system refuses is a sentence with the path and the limit, wherever it comes from. */
import { statfsSync, writeFileSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { messageOf } from '../../../base/errors.ts';
import { replaceFile } from '../../../base/replaceFile.ts';
import { openFilesMax } from '../../../base/system/platform.ts';
import { about, outOfFiles, systemMessage, writingTo } from '../../../base/system/systemError.ts';
import { startWorker } from '../../../base/worker.ts';
import { mounted, noMounts } from '../../support/mounted.ts';

const onMounts = noMounts === null ? test : test.skip;
const refused = (code: string | number, more: object = {}) =>
  Object.assign(new Error('raw text'), { code, ...more });
const megabytes = (path: string) => {
  const { blocks, bsize } = statfsSync(path);
  return ((blocks * bsize) / 1e6).toFixed(1);
};

onMounts(
  'a write through a handle that the disk has no room for names the file and the disk',
  async () => {
    const { path, remove } = mounted('size=100k');
    try {
      const file = join(path, 'large');
      const handle = await open(file, 'w');
      const writing = writingTo(file, () => handle.writeFile(Buffer.alloc(200_000)));
      const error = await writing.catch((cause: unknown) => cause).finally(() => handle.close());
      const full = `the disk is full (${megabytes(path)} MB); free some space and run the same command again (ENOSPC)`;
      expect(messageOf(error)).toBe(`${file}: ${full}`);
      const settings = join(path, 'settings.json');
      await expect(replaceFile(settings, 'x'.repeat(200_000))).rejects.toMatchObject({
        path: settings,
      });
      // lmdb says of a write that found room in part that the disk is broken.
      await writeFile(join(path, 'rest'), Buffer.alloc(1)).catch(() => undefined);
      expect(messageOf(refused(5, { path: file }))).toBe(`${file}: ${full}`);
    } finally {
      remove();
    }
  },
);

onMounts('a disk on which no more files can be made says how many it has', () => {
  const { path, remove } = mounted('nr_inodes=4');
  try {
    let error: unknown = null;
    for (let i = 0; i < 9 && error === null; i++) {
      try {
        writeFileSync(join(path, String(i)), '');
      } catch (cause) {
        error = cause;
      }
    }
    expect(messageOf(error)).toMatch(
      /the disk is full \(all of its 4 inodes are in use\); .*\(ENOSPC\)$/,
    );
  } finally {
    remove();
  }
});

test('the error for too many open files says how many are allowed', () => {
  const limit = openFilesMax === null ? '' : ` (${openFilesMax})`;
  const sentence = `this process has reached its limit of open files${limit}; raise the limit (ulimit -n) and run the same command again (EMFILE)`;
  expect(systemMessage(refused('EMFILE', { path: '/there' }))).toBe(`/there: ${sentence}`);
  expect(messageOf(new Error('open file "/w" failed: Too many open files'))).toBe(
    `open file "/w" failed: Too many open files: ${sentence}`,
  );
  expect(outOfFiles()).toBe(null);
});

test('the limit on watched files is not mistaken for a full disk', () => {
  expect(messageOf(refused('ENOSPC', { syscall: 'watch' }))).toMatch(
    /^the system has reached its limit of watched files/,
  );
});

test('a refused port is named', () => {
  const said = systemMessage(refused('EACCES', { address: '0.0.0.0', port: 80 }));
  expect(said).toBe('0.0.0.0:80: permission denied (EACCES)');
});

test('a system error keeps the path it has, and other errors get none', () => {
  expect(about('/log', refused('ENOSPC', { path: '/there' }))).toMatchObject({ path: '/there' });
  expect(about('/log', refused(28))).toMatchObject({ path: '/log' });
  expect(about('/log', new Error('other'))).not.toHaveProperty('path');
});

test('a system error in a worker thread keeps its path', async () => {
  const worker = startWorker(new URL('../children/refusedWorker.ts', import.meta.url));
  try {
    await expect(worker.call('write')).rejects.toMatchObject({ code: 'ENOSPC', path: '/weights' });
  } finally {
    await worker.close();
  }
});
