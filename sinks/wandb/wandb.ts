/**
 * `wandb`: the metrics of a run as an offline run of Weights & Biases, which its own command `wandb sync`
 * reads.
 *
 * One file per run, whatever process continues it: each batch ends with a record that has the cursor (in a
 * field that W&B does not use), and what follows the last such record (the end of the run, or half a batch)
 * is cut off before more is written.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, writingTo } from '../../base/index.ts';
import type { Stored } from '../../streams/index.ts';
import type { Metric } from '../../topics/index.ts';
import { BEGINNING, type Cursor, parseCursor } from '../outside/cursor.ts';
import type { MetricTarget, RunAbout, RunEnd } from '../outside/exportMetrics.ts';
import { bytesField, fieldsOf, wholeField } from '../outside/proto.ts';
import { FILE_HEAD, framed, item, KIND, recordOf, recordsIn } from './runFile.ts';

/** Numbers of our own fields in a record: the cursor, and the rows before it. */
const OURS = { cursor: 20_001, rows: 20_002 } as const;
const PROJECT = 'millrace';
const STEP = 'step';
const { O_APPEND, O_CREAT, O_WRONLY } = constants;

/** metrics → `FOLDER/wandb/offline-run-…/run-….wandb`. */
export function wandb(
  about: RunAbout,
  folder: string,
): MetricTarget & { readonly folder: () => string } {
  const id = idOf(about);
  const at = join(folder, 'wandb', `offline-run-${stamp(about.startedMs)}-${id}`);
  const path = join(at, `run-${id}.wandb`);
  let held: Held = { bytes: 0, records: 0, rows: 0, cursor: BEGINNING };
  /** Written in one piece. `keep` null: the next start cuts it off. */
  const write = async (bodies: readonly Body[], keep: Cursor | null): Promise<void> => {
    const pieces: Buffer[] = held.bytes === 0 ? [FILE_HEAD] : [];
    let { bytes, records } = held;
    bytes += held.bytes === 0 ? FILE_HEAD.length : 0;
    for (const { kind, body, more } of bodies) {
      const piece = framed(recordOf(++records, kind, body, more), bytes);
      pieces.push(piece);
      bytes += piece.length;
    }
    const file = await open(path, O_APPEND | O_CREAT | O_WRONLY, 0o600);
    const all = Buffer.concat(pieces);
    await writingTo(path, () => file.appendFile(all).finally(() => file.close()));
    held = { ...held, bytes, records, cursor: keep ?? held.cursor };
  };
  return {
    folder: () => at,
    async open() {
      await makeFolder(at);
      held = heldIn(await readFile(path).catch(() => Buffer.alloc(0)));
      // Also a file that has no whole batch yet.
      await truncate(path, held.bytes).catch(() => undefined);
      return held.cursor;
    },
    async write(batch, after) {
      const rows = rowsOf(batch);
      const begin = held.bytes === 0 ? beginning(about, id) : [];
      const histories = rows.map((row, i) => historyOf(row, held.rows + i, about));
      const count = held.rows + rows.length;
      await write([...begin, ...histories, summaryOf(batch, after, count)], after);
      held = { ...held, rows: count };
    },
    async close({ status }: RunEnd) {
      if (held.bytes === 0 || status === 'running') return;
      const code = status === 'failed' ? wholeField(1, 1) : Buffer.alloc(0);
      await write([{ kind: KIND.exit, body: code }], null);
    },
  };
}

interface Body {
  readonly kind: number;
  readonly body: Buffer;
  readonly more?: Buffer;
}

/** The contents of a file up to its last whole batch. */
interface Held {
  readonly bytes: number;
  readonly records: number;
  readonly rows: number;
  readonly cursor: Cursor;
}

function heldIn(file: Buffer): Held {
  let held: Held = { bytes: 0, records: 0, rows: 0, cursor: BEGINNING };
  let records = 0;
  for (const { record, end } of recordsIn(file)) {
    records += 1;
    const { bytes, wholes } = fieldsOf(record);
    const cursor = bytes.get(OURS.cursor);
    if (cursor === undefined) continue;
    const rows = wholes.get(OURS.rows) ?? 0;
    held = { bytes: end, records, rows, cursor: parseCursor(cursor.toString()) };
  }
  return held;
}

/** W&B identifies a run by this forever; a run that was started over gets another. */
function idOf({ run, startedMs }: RunAbout): string {
  const hash = createHash('sha256').update(`${run}@${startedMs}`).digest('hex');
  return `${run.slice(0, 40)}-${hash.slice(0, 8)}`;
}

/** `20261123_045553` */
function stamp(ms: number): string {
  const [day = '', time = ''] = new Date(ms).toISOString().split('T');
  return `${day.replaceAll('-', '')}_${time.slice(0, 8).replaceAll(':', '')}`;
}

function beginning(about: RunAbout, id: string): Body[] {
  const { run, job, seed, millrace, startedMs, settings } = about;
  const versions = Buffer.concat([bytesField(1, `millrace ${millrace}`), bytesField(2, '0.40.0')]);
  const config = Object.entries({ ...settings, job, seed }).map(([key, value]) =>
    bytesField(1, item(key, value, 1)),
  );
  const seconds = Math.floor(startedMs / 1000);
  const begun = Buffer.concat([
    wholeField(1, seconds),
    wholeField(2, Math.round((startedMs - seconds * 1000) * 1e6)),
  ]);
  const described = Buffer.concat([
    bytesField(1, id),
    bytesField(3, PROJECT),
    bytesField(4, Buffer.concat(config)),
    bytesField(7, job),
    bytesField(8, run),
    bytesField(17, begun),
  ]);
  // Every metric is drawn over the step of the trainer.
  const over = Buffer.concat([
    bytesField(2, '*'),
    bytesField(4, STEP),
    bytesField(6, Buffer.concat([wholeField(1, 1), wholeField(3, 1)])),
  ]);
  return [
    { kind: KIND.header, body: bytesField(1, versions) },
    { kind: KIND.run, body: described },
    { kind: KIND.metric, body: over },
  ];
}

interface Row {
  readonly step: number;
  readonly atMs: number;
  readonly values: Map<string, number>;
}

/** Metrics of one step that follow one another, each name once. */
function rowsOf(batch: readonly Stored<Metric>[]): Row[] {
  const rows: Row[] = [];
  for (const { value: metric, atMs } of batch) {
    const { name, step, value } = metric;
    const last = rows.at(-1);
    if (last !== undefined && last.step === step && !last.values.has(name)) {
      last.values.set(name, value);
    } else {
      rows.push({ step, atMs, values: new Map([[name, value]]) });
    }
  }
  return rows;
}

function historyOf({ step, atMs, values }: Row, number: number, { startedMs }: RunAbout): Body {
  const all = [
    ...values,
    [STEP, step],
    ['_timestamp', atMs / 1000],
    ['_runtime', Math.max(0, atMs - startedMs) / 1000],
    ['_step', number],
  ] as const;
  const items = all.map(([name, value]) => bytesField(1, item(name, value, 2)));
  const counted = bytesField(2, wholeField(1, number));
  return { kind: KIND.history, body: Buffer.concat([...items, counted]) };
}

/** The newest values, and where the next start continues. */
function summaryOf(batch: readonly Stored<Metric>[], after: Cursor, rows: number): Body {
  const newest = new Map(batch.map(({ value: { name, value } }) => [name, value]));
  newest.set(STEP, batch.at(-1)!.value.step);
  const items = [...newest].map(([name, value]) => bytesField(1, item(name, value, 2)));
  const more = Buffer.concat([
    bytesField(OURS.cursor, JSON.stringify(after)),
    wholeField(OURS.rows, rows),
  ]);
  return { kind: KIND.summary, body: Buffer.concat(items), more };
}
