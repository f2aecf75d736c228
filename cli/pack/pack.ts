/**
 * `millrace pack RUN`: a run as one file, to inspect on another machine (`unpack.ts`).
 *
 * The run is only read, even while it is running: its log is copied as of one moment, and what the log refers
 * to existed before that. Records on Kafka are packed as a log in a folder.
 */

import { constants } from 'node:fs';
import { copyFile, link, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { create } from 'tar';
import { makeFolder, scratchName, systemCode, writingTo } from '../../base/index.ts';
import { copyLmdb } from '../../base/lmdb/index.ts';
import { counted } from '../../base/text/index.ts';
import { LOCAL_FOLDER } from '../../model/checkpoints/index.ts';
import { size } from '../../summary/format/index.ts';
import { exitCodes } from '../failure.ts';
import { FOREIGN_FILE } from '../foreign.ts';
import { stoppable } from '../interruption.ts';
import type { Io } from '../io.ts';
import { withLocalLog } from '../localLog.ts';
import { privateFiles } from '../privateFiles.ts';
import { type RunRecord, writeRunRecord } from '../runRecord.ts';
import { findRun, logFolder, type Run } from '../runs.ts';
import { inScratch, type Scratch } from '../scratch.ts';
import { version } from '../version.ts';
import { digestsIn, filesIn, MANIFEST, type Manifest } from './archive.ts';

export interface PackOptions {
  readonly run?: string;
  readonly runs: string;
  /** The archive; `<run>.tar.gz` here when absent. */
  readonly output?: string;
  /** False = leave checkpoints out. */
  readonly weights?: boolean;
}

/** Weights hardly compress, so the fast level is as good. */
const GZIP = { level: 3 };

export async function packCommand(options: PackOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  const output = resolve(io.cwd, options.output ?? `${run.name}.tar.gz`);
  privateFiles();
  io.giveWay?.();
  await makeFolder(dirname(output));
  const root = dirname(run.folder);
  const staged = join(root, scratchName('pack', run.name));
  const files = await stoppable(io, (scratch) =>
    inScratch(scratch, staged, async () => {
      const folder = join(staged, run.name);
      await makeFolder(folder);
      await stage(run, folder, { options, io, scratch });
      const manifest: Manifest = {
        format: 1,
        run: run.name,
        millrace: version,
        packedMs: io.clock.now(),
        files: await digestsIn(folder),
      };
      await writeFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
      const beside = `${output}.tmp`;
      await inScratch(scratch, beside, async () => {
        await writingTo(output, () =>
          create({ gzip: GZIP, file: beside, cwd: staged, portable: true }, [run.name]),
        );
        await rename(beside, output);
      });
      return Object.keys(manifest.files).length;
    }),
  );
  const { size: bytes } = await stat(output);
  await io.out(`${basename(output)}: run ${run.name}, ${counted(files, 'file')}, ${size(bytes)}\n`);
  io.err(`on the other machine: ${io.program} unpack ${basename(output)}`);
  return exitCodes.done;
}

interface Staging {
  readonly options: PackOptions;
  readonly io: Io;
  readonly scratch: Scratch;
}

/** Everything that goes into the archive, in a folder of its own. */
async function stage(run: Run, to: string, { options, io, scratch }: Staging): Promise<void> {
  await makeFolder(logFolder(to));
  await withLocalLog(run, { io, scratch }, ({ folder }) =>
    copyLmdb(join(folder, 'log.mdb'), join(logFolder(to), 'log.mdb')),
  );
  for (const path of await filesIn(run.folder)) {
    const [top = ''] = path.split('/');
    const passing = /\.(new|tmp|lock|mdb-lock)$/.test(path);
    const left = top === 'log' || ['run.json', MANIFEST, FOREIGN_FILE].includes(path);
    if (passing || left || (top === LOCAL_FOLDER && options.weights === false)) continue;
    await makeFolder(dirname(join(to, path)));
    await take(join(run.folder, path), join(to, path), top === LOCAL_FOLDER);
  }
  await writeRunRecord(to, recordOf(run, io.clock.now()));
}

/** A checkpoint never changes, so a hard link suffices if the disk supports it. */
async function take(from: string, to: string, settled: boolean): Promise<void> {
  try {
    if (from.endsWith('.mdb')) return await copyLmdb(from, to);
    if (settled && (await linked(from, to))) return;
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  } catch (error) {
    // A live run removes old checkpoints.
    if (systemCode(error) !== 'ENOENT') throw error;
    await rm(to, { force: true });
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  return link(from, to).then(
    () => true,
    () => false,
  );
}

/** Once unpacked, no process writes it, and its records are in its folder. */
function recordOf({ record }: Run, nowMs: number): RunRecord {
  const { log: _, cluster: __, ...rest } = record;
  if (record.status !== 'running') return rest;
  const starts = record.starts.map((start) => ({ ...start, endedMs: start.endedMs ?? nowMs }));
  return { ...rest, status: 'stopped', starts };
}
