/**
 * `millrace unpack FILE`: adds a packed run to the runs of this machine for report, view, tap, doctor and
 * replay.
 *
 * Guarantees: the run appears as a whole, every file with the digest it was packed with, or not at all;
 * nothing is written outside its folder, and no existing run is touched.
 */
import { readdir, rename, rm, statfs } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { extract, list } from 'tar';
import { makeFolder, messageOf, scratchName } from '../../base/index.ts';
import { isAddress } from '../../streams/archive/index.ts';
import { size } from '../../summary/format/index.ts';
import { exitCodes } from '../failure.ts';
import { markForeign } from '../foreign.ts';
import { stoppable } from '../interruption.ts';
import type { Io } from '../io.ts';
import { privateFiles } from '../privateFiles.ts';
import { freshFolder } from '../rewind/rewind.ts';
import { type RunRecord, readRunRecord } from '../runRecord.ts';
import { inScratch } from '../scratch.ts';
import { checkedManifest, MANIFEST, mustBeStated, refused } from './archive.ts';

export interface UnpackOptions {
  readonly file: string;
  readonly runs: string;
  /** A different name for the run. */
  readonly into?: string;
  /** The run is the user's own: what it names may be executed and contacted. */
  readonly trust?: boolean;
}

export async function unpackCommand(options: UnpackOptions, io: Io): Promise<number> {
  const file = resolve(io.cwd, options.file);
  const root = resolve(io.cwd, options.runs);
  privateFiles();
  await makeFolder(root);
  const staged = join(root, scratchName('unpack', 'run'));
  const name = await stoppable(io, (scratch) =>
    inScratch(scratch, staged, async () => {
      await makeFolder(staged);
      await mustFit(file, root);
      const folder = await extracted(file, staged);
      const { run } = await checkedManifest(folder, basename(file));
      const record = await readRunRecord(folder);
      if (record === null) throw refused(basename(file), 'it has no run.json');
      if (options.trust !== true) {
        mustNameNoPlace(basename(file), record);
        await markForeign(folder, { file: basename(file), unpackedMs: io.clock.now() });
      }
      const to = await freshFolder(root, options.into ?? run);
      await rm(join(folder, MANIFEST));
      await rename(folder, to);
      return basename(to);
    }),
  );
  await io.out(`unpacked run ${name} into ${dirname(join(options.runs, name))}\n`);
  return exitCodes.done;
}

/** Its records are in its folder: a packed run needs no addresses or folders of another machine. */
function mustNameNoPlace(archive: string, { log, cluster, retention }: RunRecord): void {
  const named = { log, cluster, 'retention.archive': retention?.archive };
  for (const [field, place] of Object.entries(named)) {
    const isNear =
      place === undefined || (field.startsWith('ret') && !isAddress(place) && !isAbsolute(place));
    if (isNear) continue;
    throw refused(
      archive,
      `the ${field} in its run.json is outside the archive (${JSON.stringify(place.slice(0, 80))}); use --trust if the run is your own`,
    );
  }
}

/** Enough for the `pack.json` of a run with a hundred thousand files. */
const MANIFEST_MAX = 32 * 2 ** 20;

/**
 * Checks an archive before anything of it is written: every file has the size in `pack.json`, and all of them
 * fit on the disk. A small archive may unpack to more than any disk holds.
 */
async function mustFit(file: string, root: string): Promise<void> {
  const archive = basename(file);
  const sizes: Record<string, number> = {};
  const texts: Buffer[] = [];
  let odd = '';
  try {
    await list({
      file,
      strict: true,
      onReadEntry(entry) {
        const path = entry.path.split('/').slice(1).join('/');
        if (entry.type !== 'File' && entry.type !== 'Directory') odd ||= entry.path;
        if (entry.type !== 'File') return;
        if (path !== MANIFEST) sizes[path] = entry.size;
        else if (entry.size <= MANIFEST_MAX) entry.on('data', (part: Buffer) => texts.push(part));
      },
    });
  } catch (cause) {
    throw refused(archive, messageOf(cause), cause);
  }
  if (odd !== '') throw refused(archive, `${odd} is neither a file nor a folder`);
  mustBeStated(archive, Buffer.concat(texts).toString('utf8'), sizes);
  const needed = Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0);
  const { bavail, bsize } = await statfs(root);
  if (needed <= bavail * bsize) return;
  throw refused(
    archive,
    `it needs ${size(needed)}, but ${root} has only ${size(bavail * bsize)} left`,
  );
}

/** The one folder of an archive, which contains only files and folders. */
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
  if (names.length !== 1) throw refused(archive, 'it does not contain exactly one folder');
  return join(staged, names[0]!);
}
