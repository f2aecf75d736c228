/** What a start that cannot be leaves and says: no folder, no number taken, a sentence and no stack. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '../../base/errors.ts';
import { failure } from '../../cli/failure.ts';
import { main } from '../../cli/program.ts';
import { writePage } from '../../cli/writePage.ts';
import { builtMillrace, ROOT } from '../support/commandLine.ts';
import { freshFolders } from '../support/folder.ts';
import { mounted, noMounts } from '../support/mounted.ts';
import { fakeIo } from './support/fakeIo.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const job = 'test/cli/fixtures/numbers.job.ts';
const fresh = freshFolders();
const onMounts = noMounts === null ? test : test.skip;

async function millrace(
  ...args: string[]
): Promise<{ readonly code: number; readonly err: string }> {
  const io = fakeIo(root);
  const code = await main(args, io);
  return { code, err: io.stderr().join('\n') };
}

describe('a failed start', () => {
  test('leaves no folder, whether the run has a name or a number', async () => {
    const runs = fresh();
    const failing = [job, '--runs', runs, '--set', 'fail=build'];
    expect((await millrace('run', ...failing)).code).toBe(1);
    expect((await millrace('run', ...failing, '--run', 'named')).code).toBe(1);
    expect(readdirSync(runs)).toEqual([]);
    const { err } = await millrace('run', job, '--runs', runs);
    expect(err).toMatch(/^starting run numbers-1 /);
  });

  test('keeps a folder that was there before', async () => {
    const runs = fresh();
    mkdirSync(join(runs, 'named'));
    writeFileSync(join(runs, 'named', 'notes.txt'), 'mine');
    await millrace('run', job, '--runs', runs, '--set', 'fail=build', '--run', 'named');
    expect(readdirSync(join(runs, 'named'))).toContain('notes.txt');
  });

  test.each(['/proc/runs', 'FILE', 'FILE/runs'])(
    'says why runs cannot be kept in %s',
    async (place) => {
      const file = join(fresh(), 'file');
      writeFileSync(file, '');
      const { code, err } = await millrace('run', job, '--runs', place.replace('FILE', file));
      expect([code, err]).toEqual([1, expect.stringMatching(/^error \(FOLDER\): the folder .*/m)]);
      expect(err).not.toMatch(/\n +at /);
    },
  );

  onMounts('says why a finished run cannot go on or be forked on a read-only disk', async () => {
    const { path, remove } = mounted('ro');
    try {
      const { code, err } = await millrace('run', job, '--runs', path);
      expect(code).toBe(1);
      expect(err).toMatch(/error \(FOLDER\): .*the file system is read-only \(EROFS\)$/);
    } finally {
      remove();
    }
  });

  onMounts('says that the disk was full when the base was copied, and leaves nothing', async () => {
    const { path, remove } = mounted('size=3m');
    try {
      const { code, err } = await builtMillrace(
        ROOT,
        ...['run', 'examples/fromScratch/job.ts', '--runs', path, '--run', 'named'],
        ...['--set', 'rounds=1', '--set', 'explore=4', '--set', 'heldOut=2'],
      ).ended;
      expect(code).toBe(1);
      expect(err).toMatch(
        /^error: .*: the disk is full \(3\.1 MB\); free some space .*\(ENOSPC\)$/m,
      );
      expect(err).not.toMatch(/\n +at /);
      expect(readdirSync(path)).toEqual([]);
    } finally {
      remove();
    }
  });
});

describe('a failure', () => {
  const refused = (code: string | number) =>
    Object.assign(new Error(`${code}: raw text`), { code, path: '/there' });

  test('is explained in a sentence when the system refuses something, bare lmdb codes included', () => {
    expect(failure(refused('EISDIR'), {}).message).toBe(
      'error: /there: it is a folder, not a file (EISDIR)',
    );
    expect(failure(refused(30), {}).message).toBe(
      'error: /there: the file system is read-only (EROFS)',
    );
  });

  test('shows its stack if it was not foreseen, and always with MILLRACE_DEBUG=1', () => {
    const debug = { MILLRACE_DEBUG: '1' };
    const ours = (error: Error) => {
      error.stack = `${error.name}: ${error.message}\n    at f (${root}cli/run.ts:1:1)`;
      return error;
    };
    expect(failure(ours(new TypeError('x is not y')), {}).message).toMatch(/x is not y\n +at /);
    const theirs = failure(new TypeError('x is not y'), {}).message;
    expect(theirs).toMatch(
      /^error: TypeError: x is not y \(.*failedStart\.long\.test\.ts:\d+:\d+\)$/,
    );
    expect(failure(refused('ENOSPC'), {}).message).not.toMatch(/\n/);
    expect(failure(refused('ENOSPC'), debug).message).toMatch(/ENOSPC: raw text\n +at /);
    const stage = new MillraceError('STAGE', 'it failed', { cause: new Error('deep down') });
    expect(failure(stage, {}).message).toBe('error (STAGE): it failed');
    expect(failure(stage, debug).message).toMatch(/it failed\n +at [\s\S]*deep down\n +at /);
  });
});

test('a page that cannot be written is reported, and the run does not fail', async () => {
  const file = join(fresh(), 'file');
  writeFileSync(file, '');
  const io = fakeIo(root);
  expect(await writePage(join(file, 'page.html'), '<p>', io)).toBe(false);
  expect(io.stderr()).toEqual([
    expect.stringMatching(/^cannot write the page: .*page\.html.* \(ENOTDIR\)$/),
  ]);
});
