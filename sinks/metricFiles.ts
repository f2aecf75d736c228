/**
 * `metricFiles`: the metrics as ordinary files in the run folder, `metrics.jsonl` and `metrics.csv`, one line
 * per metric.
 *
 * The files are views of the topic. Each line has the offset of its record; at every start the files are
 * compared with the topic, and written again from the first line that is missing, half written or damaged.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { writeToString } from 'fast-csv';
import { concatMap, defer, finalize, from, type OperatorFunction } from 'rxjs';
import { writingTo } from '../base/index.ts';
import { csvCell } from '../base/text/index.ts';
import type { Delivery } from '../streams/deliveries/index.ts';
import { expandEach, type Log, recordsOf } from '../streams/index.ts';
import { type Metric, topics } from '../topics/index.ts';

export interface FilesOptions {
  readonly folder: string;
  /** The metrics that the topic holds from this offset on. */
  readonly recorded: (offset: number) => AsyncIterable<RecordedMetric>;
}

/** A metric, and its position in the topic. */
export interface RecordedMetric {
  readonly value: Metric;
  readonly position: { readonly offset: number };
}

/** The metrics in a log, for `metricFiles`. */
export function metricsIn(log: Log): FilesOptions['recorded'] {
  return (offset) => recordsOf(log, topics.metrics, { from: { kind: 'offset', offset } });
}

/** Does not follow a link instead of the file, if the system supports that. */
const { O_APPEND, O_CREAT, O_RDWR, O_WRONLY, O_NOFOLLOW = 0 } = constants;
const COLUMNS = ['offset', 'step', 'round', 'name', 'value', 'atMs'] as const;

type Row = Metric & { readonly offset: number };

/** One of the two files. */
interface MetricFile {
  readonly path: string;
  /** The offset in a line; NaN if it has none. */
  readonly offsetOf: (line: string) => number;
  readonly line: (row: Row) => Promise<string> | string;
  readonly header: string;
}

function filesIn(folder: string): readonly MetricFile[] {
  return [
    {
      path: join(folder, 'metrics.jsonl'),
      offsetOf: offsetInJson,
      line: (row) => `${JSON.stringify(row)}\n`,
      header: '',
    },
    {
      path: join(folder, 'metrics.csv'),
      offsetOf: (line) =>
        line.split(',').length < COLUMNS.length ? Number.NaN : Number.parseInt(line, 10),
      line: csvLine,
      header: `${COLUMNS.join(',')}\n`,
    },
  ];
}

/** NaN for a damaged line, and for one of an older version, which called the round a stage. */
function offsetInJson(line: string): number {
  try {
    const { offset, round } = JSON.parse(line) as { offset: number; round?: number };
    return round === undefined ? Number.NaN : offset;
  } catch {
    return Number.NaN;
  }
}

/** metrics → `metrics.jsonl`, `metrics.csv`. */
export function metricFiles({
  folder,
  recorded,
}: FilesOptions): OperatorFunction<Delivery<Metric>, Delivery<never>> {
  return (metrics$) =>
    defer(() => {
      const stop = new AbortController();
      const { signal } = stop;
      const repaired = oneWriter(folder, async () => {
        const ends: number[] = [];
        for (const file of filesIn(folder)) ends.push(await repair(file, recorded, signal));
        return ends;
      });
      return from(repaired).pipe(
        concatMap((ends) => metrics$.pipe(appended(folder, ends, signal))),
        finalize(() => stop.abort()),
      );
    });
}

/** The last work on each folder's files. */
const working = new Map<string, Promise<unknown>>();

/**
 * Does `work` after all earlier work of this process on a folder's files: a stopped run may still be writing
 * a line.
 */
async function oneWriter<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const done = (working.get(folder) ?? Promise.resolve()).then(work, work);
  working.set(folder, done);
  try {
    return await done;
  } finally {
    if (working.get(folder) === done) working.delete(folder);
  }
}

/** `ends`: the last offset in each file, -1 for none. */
function appended(
  folder: string,
  ends: number[],
  signal: AbortSignal,
): OperatorFunction<Delivery<Metric>, Delivery<never>> {
  const files = filesIn(folder);
  return expandEach(
    async (metric, { position: { offset } }) => {
      await oneWriter(folder, async () => {
        for (const [i, file] of files.entries()) {
          if (signal.aborted) return;
          if (offset > ends[i]!) ends[i] = await extend(file, ends[i]!, { offset, ...metric });
        }
      });
      return [];
    },
    { concurrency: 1, onError: 'fail' },
  );
}

/**
 * Makes a file whole: it has a line for every metric that the topic has now. Resolves with the last offset,
 * -1 for none.
 */
async function repair(
  file: MetricFile,
  recorded: FilesOptions['recorded'],
  signal: AbortSignal,
): Promise<number> {
  let end = await wholePart(file, recorded);
  for await (const { value, position } of recorded(end + 1)) {
    if (signal.aborted) break;
    end = await extend(file, end, { offset: position.offset, ...value });
  }
  return end;
}

/** Appends a line to a file that ends with offset `end`. Resolves with its new end. */
async function extend(file: MetricFile, end: number, row: Row): Promise<number> {
  await append(file.path, `${end === -1 ? file.header : ''}${await file.line(row)}`);
  return row.offset;
}

/**
 * Cuts a file after the longest beginning that matches the topic. Resolves with the last offset of that part,
 * -1 for none.
 */
async function wholePart(
  { path, offsetOf, header }: MetricFile,
  recorded: FilesOptions['recorded'],
): Promise<number> {
  const file = await open(path, O_RDWR | O_NOFOLLOW).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (file === null) return -1;
  const topic = new Following(recorded);
  try {
    let bytes = 0;
    let offset = -1;
    let first = true;
    for await (const line of wholeLines(file)) {
      if (first && header !== '') {
        if (`${line}\n` !== header) break;
      } else {
        const next = offsetOf(line);
        // Offsets on Kafka have gaps: if the next one does not follow, the topic decides.
        if (next !== offset + 1 && next !== (await topic.after(offset))) break;
        offset = next;
      }
      first = false;
      bytes += Buffer.byteLength(line) + 1;
    }
    await file.truncate(offset === -1 ? 0 : bytes);
    return offset;
  } finally {
    await topic.end();
    await file.close();
  }
}

/** Lines with their line ends, as they are read. */
async function* wholeLines(file: Awaited<ReturnType<typeof open>>): AsyncGenerator<string> {
  let rest = '';
  const text$ = file.createReadStream({ encoding: 'utf8', autoClose: false, start: 0 });
  for await (const text of text$) {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
}

/** The offsets of a topic, read ahead as far as needed. */
class Following {
  readonly #recorded: FilesOptions['recorded'];
  #reading: AsyncIterator<RecordedMetric> | null = null;
  #at = -1;

  constructor(recorded: FilesOptions['recorded']) {
    this.#recorded = recorded;
  }

  /** The first offset after this one; NaN if there is none. */
  async after(offset: number): Promise<number> {
    this.#reading ??= this.#recorded(offset + 1)[Symbol.asyncIterator]();
    while (this.#at <= offset) {
      const { done, value } = await this.#reading.next();
      if (done === true) return Number.NaN;
      this.#at = value.position.offset;
    }
    return this.#at;
  }

  async end(): Promise<void> {
    await this.#reading?.return?.();
  }
}

/** Writes both files from these records, as `metricFiles` would have written them. */
export async function writeMetrics(
  folder: string,
  records: AsyncIterable<RecordedMetric>,
): Promise<void> {
  let end = -1;
  for await (const { value, position } of records) {
    const row = { offset: position.offset, ...value };
    for (const file of filesIn(folder)) await extend(file, end, row);
    end = row.offset;
  }
}

/** Only the owner may read it. */
async function append(path: string, text: string): Promise<void> {
  const file = await open(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  await writingTo(path, () => file.appendFile(text).finally(() => file.close()));
}

async function csvLine(row: Row): Promise<string> {
  const fields = COLUMNS.map((column) => csvCell(row[column]));
  return `${await writeToString([fields], { headers: false })}\n`;
}
