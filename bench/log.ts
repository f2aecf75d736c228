/**
 * The embedded log against a plain file: `npm run bench:log`.
 *
 * Rollouts of 10 KB are appended in commits of 1, 50 and 256, each commit awaited before the next; the limit that
 * the machine sets is the same bytes, encoded beforehand, written to a plain file with fdatasync after as many.
 * Then all of them are tapped in order, against reading that file. Turns alternate and the medians are compared.
 * No goal is set: this says what durable, typed and indexed costs.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { lastValueFrom } from 'rxjs';
import { draws } from '../base/draws.ts';
import { openLog } from '../streams/embedded/openLog.ts';
import type { Log } from '../streams/log.ts';
import type { Rollout } from '../streams/records.ts';
import { topics } from '../streams/topics.ts';
import { rollout } from '../test/support/records.ts';
import { benchmark } from './options.ts';
import { median, print, type Row, timeMs } from './table.ts';

const { json } = benchmark(
  'npm run bench:log',
  `Appends of rollouts of 10 KB to the embedded log beside the same bytes in a plain file that is
flushed as often, and a tap of all of them beside reading that file.`,
)
  .parse()
  .opts<{ json: boolean }>();

const POOL = 256;
const TURNS = 5;
/** Records of one turn by records of one commit. */
const APPENDS = [
  { perCommit: 1, records: 100 },
  { perCommit: 50, records: 1_000 },
  { perCommit: 256, records: 2_048 },
] as const;
const READ_TURNS = 3;

/** Two hundred words, a thousand tokens with their log-probs: 10 KB as Avro. */
function rolloutOf10Kb(index: number): Rollout {
  const coin = draws('bench', 'log', index);
  const tokens = Int32Array.from({ length: 1_000 }, (_, i) => coin.integer(i, 150_000));
  const logProbs = Float32Array.from(tokens, (_, i) => -coin.uniform(i));
  const text = Array.from(tokens.subarray(0, 200), (token) => token.toString(36)).join(' ');
  const prompt = tokens.slice(0, 250);
  return rollout({ id: `q${index}/explore-0/0`, index, prompt, tokens, logProbs, text });
}

const rollouts = Array.from({ length: POOL }, (_, index) => rolloutOf10Kb(index));
const encoded = rollouts.map((value) => topics.rollouts.codec.encode(value));

interface Places {
  readonly log: Log;
  readonly file: FileHandle;
}

async function appendToLog({ log }: Places, perCommit: number, records: number): Promise<void> {
  for (let done = 0; done < records; done += perCommit) {
    await log.commit((tx) => {
      for (let i = done; i < done + perCommit; i++) tx.append(topics.rollouts, rollouts[i % POOL]!);
    });
  }
}

async function appendToFile({ file }: Places, perCommit: number, records: number): Promise<void> {
  for (let done = 0; done < records; done += perCommit) {
    await file.writev(Array.from({ length: perCommit }, (_, i) => encoded[(done + i) % POOL]!));
    await file.datasync();
  }
}

/** Reads the file from its beginning, a commit at a time, and hands out each record's bytes. */
async function readFile(file: FileHandle, each: (bytes: Buffer) => void): Promise<void> {
  let position = 0;
  for (const { perCommit, records } of APPENDS) {
    for (let turn = 0; turn < TURNS; turn++) {
      for (let done = 0; done < records; done += perCommit) {
        const sizes = Array.from(
          { length: perCommit },
          (_, i) => encoded[(done + i) % POOL]!.length,
        );
        const bytes = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + size, 0));
        await file.read(bytes, 0, bytes.length, position);
        position += bytes.length;
        let start = 0;
        for (const size of sizes) {
          each(bytes.subarray(start, start + size));
          start += size;
        }
      }
    }
  }
}

function row(
  what: string,
  against: string,
  records: number,
  ours: number[],
  theirs: number[],
): Row {
  const perSecond = (times: readonly number[]): number => (1000 * records) / median(times);
  const rates = { ours: perSecond(ours), theirs: perSecond(theirs) };
  return {
    what,
    against,
    ratio: rates.ours / rates.theirs,
    goal: null,
    unit: 'records/s',
    ...rates,
  };
}

/** Each size in turns: the log, the file, the log, … */
async function appendRows(places: Places): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { perCommit, records } of APPENDS) {
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      ours.push(await timeMs(() => appendToLog(places, perCommit, records)));
      theirs.push(await timeMs(() => appendToFile(places, perCommit, records)));
    }
    const what = `append in commits of ${perCommit}`;
    rows.push(row(what, 'plain file, fdatasync per commit', records, ours, theirs));
  }
  return rows;
}

async function readRows({ log, file }: Places): Promise<Row[]> {
  const [tap, read, decode]: [number[], number[], number[]] = [[], [], []];
  const all = { from: { kind: 'earliest' }, follow: false } as const;
  const { codec } = topics.rollouts;
  for (let turn = 0; turn < READ_TURNS; turn++) {
    tap.push(await timeMs(() => lastValueFrom(log.tap(topics.rollouts, all))));
    read.push(await timeMs(() => readFile(file, () => undefined)));
    decode.push(await timeMs(() => readFile(file, (bytes) => void codec.decode(bytes))));
  }
  const records = TURNS * APPENDS.reduce((sum, size) => sum + size.records, 0);
  const [first] = await log.stats();
  assert.equal(first?.records, records);
  return [
    row('tap in order', 'plain file, read', records, tap, read),
    row('tap in order', 'plain file, read and decoded', records, tap, decode),
  ];
}

/** On the disk of the checkout: a temporary folder may lie in memory, where nothing is flushed. */
function folderOnDisk(): string {
  mkdirSync('runs', { recursive: true });
  return mkdtempSync(join('runs', 'bench-log-'));
}

const folder = folderOnDisk();
const log = await openLog({ folder: join(folder, 'log'), mode: 'write' });
const file = await open(join(folder, 'plain'), 'w+');
try {
  const places = { log, file };
  const bytes = encoded.reduce((sum, body) => sum + body.length, 0) / POOL;
  const rows = [...(await appendRows(places)), ...(await readRows(places))];
  if (!json) console.log(`A record has ${Math.round(bytes)} bytes.`);
  print('Embedded log', rows, json);
} finally {
  await file.close();
  await log.close();
  rmSync(folder, { recursive: true, force: true });
}
