/**
 * `files`: the metrics as ordinary files in the run folder, `metrics.jsonl` and `metrics.csv`, a line a metric.
 *
 * Each line carries the offset of its record, so that a run that was killed goes on after the last whole line:
 * no metric twice, none missing.
 */
import { appendFile, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { writeToString } from 'fast-csv';
import type { OperatorFunction } from 'rxjs';
import type { Delivery } from '../streams/delivery.ts';
import { expandEach } from '../streams/primitives.ts';
import type { Metric } from '../streams/records.ts';

export interface FilesOptions {
  readonly folder: string;
}

const COLUMNS = ['offset', 'step', 'stage', 'name', 'value', 'atMs'] as const;

/** Cuts a line that a crash left half written and gives the last offset in the file, or -1. */
async function lastOffset(path: string, read: (line: string) => number): Promise<number> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole.length < text.length) await truncate(path, Buffer.byteLength(whole));
  const last = whole.trimEnd().split('\n').at(-1) ?? '';
  const offset = last === '' ? -1 : read(last);
  return Number.isInteger(offset) ? offset : -1;
}

/** metrics → `metrics.jsonl`, `metrics.csv`. */
export function files(options: FilesOptions): OperatorFunction<Delivery<Metric>, Delivery<never>> {
  const jsonl = join(options.folder, 'metrics.jsonl');
  const csv = join(options.folder, 'metrics.csv');
  let written: { jsonl: number; csv: number } | undefined;
  return expandEach(
    async (metric, { position }) => {
      written ??= {
        jsonl: await lastOffset(jsonl, (line) => (JSON.parse(line) as { offset: number }).offset),
        csv: await lastOffset(csv, (line) => Number(line.split(',')[0])),
      };
      const { offset } = position;
      const row = { offset, ...metric };
      if (offset > written.jsonl) await appendFile(jsonl, `${JSON.stringify(row)}\n`);
      if (offset > written.csv) {
        const line = await writeToString([COLUMNS.map((column) => row[column])], {
          headers: written.csv < 0 && offset === 0 ? [...COLUMNS] : false,
        });
        await appendFile(csv, `${line}\n`);
      }
      written = { jsonl: Math.max(offset, written.jsonl), csv: Math.max(offset, written.csv) };
      return [];
    },
    { concurrency: 1 },
  );
}
