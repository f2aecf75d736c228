/**
 * `millrace export RUN.TOPIC… --to parquet|jsonl`: topics as files that DuckDB, pandas and Spark open.
 *
 * A file appears as a whole or not at all, and replaces that of the previous export. The run is only read,
 * even while it is running: the file then holds what was there when the export began.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { makeFolder } from '../../base/index.ts';
import { jsonText } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import {
  type Column,
  columnsOf,
  partitionedFiles,
  type TableFile,
  tableFormats,
} from '../../sinks/tables/index.ts';
import type { Log, Stored, Topic } from '../../streams/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import { stoppable } from '../interruption.ts';
import type { Io } from '../io.ts';
import { tenths } from '../parts.ts';
import { findRun, openRunLog } from '../runs.ts';
import { inScratch, type Scratch } from '../scratch.ts';
import { pickFields } from '../tap/fields.ts';
import { isPattern, named, topicsLike } from '../tap/patterns.ts';
import { type RangeOptions, rangeOf } from '../tap/plan.ts';
import { exportAtif } from './exportAtif.ts';
import { exportInspect } from './exportInspect.ts';
import { exportVerl } from './verl.ts';

export interface ExportOptions extends RangeOptions {
  /** As in `millrace tap`. */
  readonly topics: readonly string[];
  readonly run?: string;
  readonly runs: string;
  readonly format: string;
  /** Folder for the files. */
  readonly out: string;
  readonly partitionBy?: string;
  /** Another form than the topics' own. */
  readonly schema?: 'verl' | 'atif' | 'inspect';
}

/** What to export from a topic, and where to. */
interface Exported {
  readonly log: Log;
  readonly topic: Topic<unknown>;
  readonly range: ReturnType<typeof rangeOf>;
  /** A file, or a folder of parts. */
  readonly path: string;
  readonly options: ExportOptions;
}

export async function exportCommand(options: ExportOptions, io: Io): Promise<number> {
  const { run: name, patterns } = named(options.topics, options.run);
  const range = rangeOf(options, io);
  const run = await findRun(io, options.runs, name);
  const out = resolve(io.cwd, options.out);
  io.giveWay?.();
  await makeFolder(out);
  await stoppable(io, async (scratch) => {
    const log = await openRunLog(run, { mode: 'read', notice: (line) => io.err(line) });
    try {
      if (options.schema !== undefined) {
        const names = topicsLike(patterns, []).map((topic) => topic.name);
        const write = { verl: exportVerl, atif: exportAtif, inspect: exportInspect }[
          options.schema
        ];
        return await write(names, { run, log, out, scratch, io });
      }
      const there = (await log.stats()).map(({ topic }) => topic);
      for (const topic of topicsLike(patterns, there)) {
        if (!there.includes(topic.name) && patterns.every(isPattern)) continue;
        const ending = options.partitionBy === undefined ? `.${options.format}` : '';
        const path = join(out, `${run.name}.${topic.name}${ending}`);
        const exported = { log, topic, range, path, options };
        await io.out(`${await exportTopic(exported, scratch, io)}\n`);
      }
    } finally {
      await log.close();
    }
  });
  return exitCodes.done;
}

/** Resolves with a sentence. */
async function exportTopic(exported: Exported, scratch: Scratch, io: Io): Promise<string> {
  const { topic, path, options } = exported;
  mustBeOurs(path, options.partitionBy);
  const beside = `${path}.tmp`;
  return inScratch(scratch, beside, async () => {
    await rm(beside, { recursive: true, force: true });
    const { records, unreadable } = await write(exported, beside, io);
    if (options.partitionBy !== undefined) await rm(path, { recursive: true, force: true });
    await rename(beside, path);
    if (unreadable > 0) io.err(`${topic.name}: could not read ${counted(unreadable, 'record')}`);
    return `${relative(io.cwd, path) || path}: ${counted(records, 'record')}`;
  });
}

async function write(
  { log, topic, range, options }: Exported,
  path: string,
  io: Io,
): Promise<{ readonly records: number; readonly unreadable: number }> {
  const progress = tenths(topic.name, io);
  const file = await opened(topic, path, options);
  let records = 0;
  let unreadable = 0;
  let all: number | null = null;
  const taps = {
    ...range,
    unreadable: () => {
      unreadable += 1;
    },
    ahead: (left: number) => {
      all ??= records + left;
      progress(all - left, all);
    },
  };
  await log.tap(topic, taps).forEach((stored) => {
    file.add(stored);
    records += 1;
  });
  file.finish();
  return { records, unreadable };
}

async function opened(
  topic: Topic<unknown>,
  path: string,
  { format, partitionBy }: ExportOptions,
): Promise<TableFile> {
  const open = opener(topic, format);
  if (partitionBy === undefined) return open(path);
  await makeFolder(path);
  const pick = pickFields(partitionBy);
  const value = (stored: Stored<unknown>): string | null => {
    const found = pick(stored)[partitionBy];
    return found === null || found === undefined ? null : String(found);
  };
  return partitionedFiles({ folder: path, field: partitionBy, value, extension: format, open });
}

/** Whether the topic has what the format writes is checked when a file begins. */
function opener(topic: Topic<unknown>, format: string): (path: string) => TableFile {
  const begin = tableFormats[format]!;
  return (path) => begin(path, { columns: () => columnsFor(topic), line });
}

function columnsFor({ name, codec }: Topic<unknown>): readonly Column[] {
  if (codec.schema !== null) return columnsOf(codec.schema);
  throw usageError(`${name} is defined by the job, so its columns are unknown; use --to jsonl`);
}

function line({ position, key, atMs, value }: Stored<unknown>): string {
  const { partition, offset } = position;
  const at = new Date(atMs).toISOString();
  const fields = value as Readonly<Record<string, unknown>>;
  return jsonText({ _partition: partition, _offset: offset, _key: key, _at: at, ...fields });
}

/** Existing files are replaced only if they are an export like this one. */
function mustBeOurs(path: string, field: string | undefined): void {
  if (!existsSync(path)) return;
  if (statSync(path).isDirectory() !== (field !== undefined)) {
    const what = field === undefined ? 'a folder' : 'a file';
    throw usageError(`${path} is ${what}; remove it, or choose another folder with --out`);
  }
  if (field === undefined) return;
  const others = readdirSync(path).filter((name) => !name.startsWith(`${field}=`));
  if (others.length === 0) return;
  throw usageError(
    `${path} contains other files (${others[0]}); remove it, or choose another folder with --out`,
  );
}
