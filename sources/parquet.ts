/**
 * Rows of a Parquet file, the columns of one row group in memory at a time (hyparquet, in a thread with a
 * bounded heap: parquetWorker.ts).
 *
 * Two schemas are read: the plain columns of a questions file, and the RL schema of ET-Agent §7.6
 * (`data_source`, `prompt`, `ability`, `reward_model`, `extra_info`). Nested values come as objects and
 * arrays, int64 as bigint.
 */
import { stat } from 'node:fs/promises';
import { outsideText, startWorker, type WorkerHandle, workerEntry } from '../base/index.ts';
import type { Fields, OpenParquet, ParquetHead, RowRange } from './parquetWorker.ts';
import { questionsFileError, type RawRow } from './rawRow.ts';

const MB = 2 ** 20;
/**
 * Limits of the thread's heap and of decompressed pages: for a small file, and for each byte of a large one.
 */
const HEAP = { megabytes: 112, perByte: 24 };
const UNPACKED = { megabytes: 64, perByte: 24 };
/** Rows per message. */
const ROWS = 1_000;
/** Time limit of a row group: for a small file, and for each megabyte. It includes starting the thread. */
const DEADLINE = { startMs: 30_000, ms: 1_000, perMegabyte: 1_000 };

/** The rows in the order of the file; `place` is the row, from 1. */
export async function* parquetRows(
  path: string,
  check: (columns: readonly string[]) => string | null,
): AsyncGenerator<RawRow> {
  const { size } = await stat(path);
  const heapMegabytesMax = Math.ceil(Math.max(HEAP.megabytes, (HEAP.perByte * size) / MB));
  const worker = startWorker(workerEntry('parquetWorker', import.meta.url), { heapMegabytesMax });
  const ask = <Result>(method: string, argument: unknown, ms: number): Promise<Result> =>
    readable(path, inTime(worker, worker.call<Result>(method, argument), ms));
  const groupMs = DEADLINE.ms + (DEADLINE.perMegabyte * size) / MB;
  try {
    const bytesMax = Math.max(UNPACKED.megabytes * MB, UNPACKED.perByte * size);
    const opening: OpenParquet = { path, bytesMax };
    const { columns, groups } = await ask<ParquetHead>('open', opening, DEADLINE.startMs);
    const complaint = check(columns);
    if (complaint !== null) throw questionsFileError(`${path}: ${complaint}`);
    let rowStart = 0;
    for (const [index, count] of groups.entries()) {
      const rowEnd = rowStart + count;
      await ask<void>('load', { index, rowStart }, groupMs);
      for (let from = rowStart; from < rowEnd; from += ROWS) {
        const range: RowRange = { from, to: Math.min(from + ROWS, rowEnd) };
        const rows = await ask<readonly Fields[]>('rows', range, groupMs);
        for (const [at, fields] of rows.entries()) {
          yield { kind: 'fields', place: from + at + 1, fields, payload: json(fields) };
        }
      }
      rowStart = rowEnd;
    }
  } finally {
    await worker.close();
  }
}

/** Ends the thread if it takes too long. */
async function inTime<T>(worker: WorkerHandle, work: Promise<T>, ms: number): Promise<T> {
  const timer = setTimeout(() => void worker.close(), ms);
  return work.finally(() => clearTimeout(timer));
}

function json(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? Number(part) : part));
}

async function readable<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    const { message, code } = cause as NodeJS.ErrnoException;
    const why = code === 'WORKER_ENDED' ? 'it takes too much time or memory' : outsideText(message);
    const advice =
      'Check that the file is complete, and write it with snappy, gzip or no compression.';
    throw questionsFileError(`cannot read ${path} as Parquet: ${why}. ${advice}`, cause);
  }
}
