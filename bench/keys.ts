/**
 * `npm run bench:keys`: records found by key in an embedded log, and what its index costs when appending.
 *
 * The log is like a run's: rollouts of about `--bytes`, a group of eight per question, in commits of a
 * hundred, each durable. A second log without an index grows next to it, in turns; its rate is the yardstick
 * for appending. Then the log is opened to read and asked for randomly drawn questions; some are compared
 * with a plain reading of the topic.
 */
import assert from 'node:assert/strict';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { lastValueFrom, toArray } from 'rxjs';
import { draws } from '../base/draws.ts';
import { openLog } from '../streams/embedded/openLog.ts';
import type { Log, Stored } from '../streams/log.ts';
import { question, rollout } from '../test/support/records.ts';
import { type Rollout, topics } from '../topics/index.ts';
import { benchmark, count } from './options.ts';
import { folderOnDisk, median, print, type Row, recordsPerSecond, timeMs } from './table.ts';

const { records, bytes, json } = benchmark(
  'npm run bench:keys',
  `The records of a key in an embedded log: how long until they are there, and the rate of the append
beside that of a log without an index. 3,000,000 records of 1,800 bytes take 5.5 GB and some minutes, a second log as much again.`,
)
  .option('--records <N>', 'rollouts in the log', count, 200_000)
  .option('--bytes <N>', 'size of one, about', count, 1_800)
  .parse()
  .opts<{ records: number; bytes: number; json: boolean }>();

const GROUP = 8;
const PER_COMMIT = 100;
const TURNS = 10;
const LOOKUPS = 200;
const LIMIT_MS = 50;

const tokens = Math.max(1, Math.round((bytes - 300) / 6));
const like = rollout({
  tokens: Int32Array.from({ length: tokens }, (_, i) => (i * 7919) % 150_000),
  logProbs: new Float32Array(tokens),
});

function made(index: number): Rollout {
  const id = `train-${Math.floor(index / GROUP)}`;
  return {
    ...like,
    id: `${id}/explore-0/${index % GROUP}`,
    question: question({ id }),
    index: index % GROUP,
  };
}

async function fill(log: Log, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += PER_COMMIT) {
    await log.commit((tx) => {
      for (let i = at; i < Math.min(to, at + PER_COMMIT); i++) tx.append(topics.rollouts, made(i));
    });
  }
}

/** Alternates between the two logs, each going first in turn. */
async function append(folder: string): Promise<Row> {
  const ours = await openLog({ folder: join(folder, 'ours'), mode: 'write' });
  const plain = await openLog({ folder: join(folder, 'plain'), mode: 'write', index: false });
  const [oursMs, plainMs]: [number[], number[]] = [[], []];
  const each = Math.ceil(records / TURNS);
  for (let turn = 0; turn < TURNS; turn++) {
    const [from, to] = [turn * each, Math.min(records, (turn + 1) * each)];
    const sides = [
      async () => oursMs.push(await timeMs(() => fill(ours, from, to))),
      async () => plainMs.push(await timeMs(() => fill(plain, from, to))),
    ];
    if (turn % 2 === 1) sides.reverse();
    for (const side of sides) await side();
  }
  await ours.close();
  await plain.close();
  rmSync(join(folder, 'plain'), { recursive: true });
  const what = { what: 'append with an index', against: 'append without', goal: 0.9 };
  return recordsPerSecond(what, each, oursMs, plainMs);
}

async function find(log: Log, id: string): Promise<readonly Stored<Rollout>[]> {
  const options = { from: { kind: 'earliest' }, follow: false, only: { keys: [id] } } as const;
  return lastValueFrom(log.tap(topics.rollouts, options).pipe(toArray()));
}

async function lookups(folder: string): Promise<Row[]> {
  const random = draws('bench keys');
  const questions = Math.floor(records / GROUP);
  const path = join(folder, 'ours');
  const times: number[] = [];
  const first = await timeMs(async () => {
    const log = await openLog({ folder: path, mode: 'read' });
    await find(log, 'train-0');
    await log.close();
  });
  const log = await openLog({ folder: path, mode: 'read' });
  for (let i = 0; i < LOOKUPS; i++) {
    const place = random.integer(i, questions);
    let found: readonly Stored<Rollout>[] = [];
    times.push(await timeMs(async () => (found = await find(log, `train-${place}`))));
    const offsets = found.map(({ position }) => position.offset);
    assert.deepEqual(
      offsets,
      Array.from({ length: GROUP }, (_, index) => place * GROUP + index),
    );
  }
  const none = await timeMs(async () => assert.equal((await find(log, 'nobody')).length, 0));
  await log.close();
  const size = `${records.toLocaleString('en')} records, ${(statSync(join(path, 'log.mdb')).size / 1e9).toFixed(2)} GB`;
  const row = (what: string, ms: number, goal: number | null, note = size): Row => ({
    ...{ what, against: 'the limit', unit: 'ms', atMost: true, goal, note },
    ...{ ours: ms, theirs: LIMIT_MS, ratio: ms / LIMIT_MS },
  });
  const slowest = Math.max(...times);
  return [
    row(`a key, median of ${LOOKUPS}`, median(times), 1),
    row('a key, the slowest of these', slowest, 1),
    row('a key that there is none of', none, 1),
    row('opening the log and a key', first, null),
  ];
}

const folder = folderOnDisk('bench-keys');
try {
  const rows = [await append(folder), ...(await lookups(folder))];
  print('Records by key', rows, json);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
