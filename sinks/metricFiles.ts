/**
 * `metricFiles`: the metrics as ordinary files in the run folder, `metrics.jsonl` and `metrics.csv`, a line a metric.
 *
 * Each line carries the offset of its record, so that a run that was killed goes on after the last whole line:
 * no metric twice, none missing.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { writeToString } from 'fast-csv';
import type { OperatorFunction } from 'rxjs';
import { csvCell } from '../base/csvCell.ts';
import type { Delivery } from '../streams/deliveries/delivery.ts';
import { expandEach } from '../streams/primitives.ts';
import type { Metric } from '../topics/index.ts';

export interface FilesOptions {
  readonly folder: string;
}

/** A link in a file's place is not followed, where the system has a way to say so. */
const { O_APPEND, O_CREAT, O_RDWR, O_WRONLY, O_NOFOLLOW = 0 } = constants;
const COLUMNS = ['offset', 'step', 'stage', 'name', 'value', 'atMs'] as const;

/** What a file holds: its last offset (-1 = none), and whether it is empty. */
interface Held {
  readonly offset: number;
  readonly empty: boolean;
}

/** Cuts a line that a crash left half written and looks at the last whole one that can be read. */
async function mend(path: string, read: (line: string) => number): Promise<Held> {
  const file = await open(path, O_RDWR | O_NOFOLLOW).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (file === null) return { offset: -1, empty: true };
  let whole: string;
  try {
    const text = await file.readFile('utf8');
    whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) await file.truncate(Buffer.byteLength(whole));
  } finally {
    await file.close();
  }
  if (whole === '') return { offset: -1, empty: true };
  return { offset: lastOffset(whole.trimEnd().split('\n'), read), empty: false };
}

/** -1 where no line has one, as in a header alone. Lines that somebody has spoilt are passed over: the topic has them. */
function lastOffset(lines: readonly string[], read: (line: string) => number): number {
  for (const line of lines.toReversed()) {
    try {
      const offset = read(line);
      if (Number.isInteger(offset)) return offset;
    } catch {
      // no JSON
    }
  }
  return -1;
}

/** metrics → `metrics.jsonl`, `metrics.csv`. */
export function metricFiles(
  options: FilesOptions,
): OperatorFunction<Delivery<Metric>, Delivery<never>> {
  const jsonl = join(options.folder, 'metrics.jsonl');
  const csv = join(options.folder, 'metrics.csv');
  let held: { readonly jsonl: Held; readonly csv: Held } | undefined;
  return expandEach(
    async (metric, { position: { offset } }) => {
      held ??= {
        jsonl: await mend(jsonl, (line) => (JSON.parse(line) as { offset: number }).offset),
        csv: await mend(csv, (line) => Number(line.split(',')[0])),
      };
      const row = { offset, ...metric };
      if (offset > held.jsonl.offset) await append(jsonl, `${JSON.stringify(row)}\n`);
      if (offset > held.csv.offset) await append(csv, await csvLine(row, held.csv.empty));
      held = { jsonl: after(held.jsonl, offset), csv: after(held.csv, offset) };
      return [];
    },
    { concurrency: 1, onError: 'fail' },
  );
}

/** Writes both files from these records, as `metricFiles` would have written them. */
export async function writeMetrics(
  folder: string,
  records: AsyncIterable<{
    readonly value: Metric;
    readonly position: { readonly offset: number };
  }>,
): Promise<void> {
  for await (const { value, position } of records) {
    const row = { offset: position.offset, ...value };
    await append(join(folder, 'metrics.jsonl'), `${JSON.stringify(row)}\n`);
    await append(join(folder, 'metrics.csv'), await csvLine(row, row.offset === 0));
  }
}

/** The owner's alone. */
async function append(path: string, text: string): Promise<void> {
  const file = await open(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  await file.appendFile(text).finally(() => file.close());
}

function after(held: Held, offset: number): Held {
  return { offset: Math.max(offset, held.offset), empty: false };
}

async function csvLine(row: Metric & { readonly offset: number }, first: boolean): Promise<string> {
  const fields = COLUMNS.map((column) => csvCell(row[column]));
  return `${await writeToString([fields], { headers: first ? [...COLUMNS] : false })}\n`;
}
