/**
 * `millrace unpack FILE`: a packed run among the runs of this machine, to be looked at: report, view, tap, doctor, replay.
 *
 * Holds true: it is there whole, every file with the digest that it was packed with, or not at all; nothing is written outside its folder, and
 * no run that is there already is touched.
 */
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { extract } from 'tar';
import { messageOf } from '../../base/errors.ts';
import { makeFolder } from '../../base/makeFolder.ts';
import { exitCodes } from '../failure.ts';
import { stoppable } from '../interruption.ts';
import type { Io } from '../io.ts';
import { privateFiles } from '../privateFiles.ts';
import { freshFolder } from '../rewind/rewind.ts';
import { readRunRecord } from '../runRecord.ts';
import { inScratch } from '../scratch.ts';
import { checkedManifest, MANIFEST, refused } from './archive.ts';

export interface UnpackOptions {
  readonly file: string;
  readonly runs: string;
  /** Another name for the run. */
  readonly into?: string;
}

export async function unpackCommand(options: UnpackOptions, io: Io): Promise<number> {
  const file = resolve(io.cwd, options.file);
  const root = resolve(io.cwd, options.runs);
  privateFiles();
  await makeFolder(root);
  const staged = join(root, `.unpack-${process.pid}`);
  const name = await stoppable(io, (scratch) =>
    inScratch(scratch, staged, async () => {
      await makeFolder(staged);
      const folder = await extracted(file, staged);
      const { run } = await checkedManifest(folder, basename(file));
      if ((await readRunRecord(folder)) === null)
        throw refused(basename(file), 'it has no run.json');
      const to = await freshFolder(root, options.into ?? run);
      await rm(join(folder, MANIFEST));
      await rename(folder, to);
      return basename(to);
    }),
  );
  await io.out(`run ${name} is in ${dirname(join(options.runs, name))}\n`);
  return exitCodes.done;
}

/** The one folder of an archive, which holds nothing but files and folders. */
async function extracted(file: string, staged: string): Promise<string> {
  const archive = basename(file);
  let odd = '';
  try {
    await extract({
      file,
      cwd: staged,
      strict: true,
      noMtime: true,
      filter: (path, entry) => {
        const type = 'type' in entry ? entry.type : '';
        if (type !== 'File' && type !== 'Directory') odd = path;
        return odd === '';
      },
    });
  } catch (cause) {
    throw refused(archive, messageOf(cause), cause);
  }
  if (odd !== '') throw refused(archive, `${odd} is neither a file nor a folder`);
  const names = await readdir(staged);
  if (names.length !== 1) throw refused(archive, 'it does not hold one folder');
  return join(staged, names[0]!);
}
