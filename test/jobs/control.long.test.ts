/**
 * Settings that change while a job goes on: from which step they hold, killed and resumed, recomputed, on
 * both logs.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { verify } from '../../jobs/replay/verify.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { copyRun } from '../../streams/kafka/copyRun.ts';
import { openKafkaLog } from '../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../streams/log.ts';
import { manualClock } from '../../testing/manualClock.ts';
import {
  allTopics,
  type ControlRecord,
  type Question,
  topics,
  versionDue,
} from '../../topics/index.ts';
import { freshFolders } from '../support/folder.ts';
import { freshRun, kafkaUrl, noKafka } from '../support/kafka.ts';
import {
  type RunRecords,
  readRun,
  type TinyOptions,
  tinyCalibration,
  tinyJob,
  tinySettings,
} from '../support/tinyCalibration.ts';

const fresh = freshFolders();
const { batchGroups, explore } = tinySettings;

let asked = 0;
const set = (setting: string, value: unknown): ControlRecord => {
  asked += 1;
  return {
    ...{ id: `r${asked}`, kind: 'set', setting, value: JSON.stringify(value), by: 'test' },
    askedMs: 0,
  };
};

/** Told once version `after` is there, twice as a mailbox may. */
interface Telling {
  readonly after: number;
  readonly what: readonly ControlRecord[];
}

/** Runs until version `until`, and sends it commands on the way. */
async function run(
  options: TinyOptions,
  { until, tell = [] }: { readonly until: number; readonly tell?: readonly Telling[] },
): Promise<string> {
  const stop = new AbortController();
  const opening =
    options.open ??
    (() => openLog({ folder: join(options.folder, 'log'), mode: 'write', clock: manualClock() }));
  const open = async (): Promise<Log> => {
    const log = await opening();
    const left = [...tell];
    log.tap(topics.weights, { from: { kind: 'earliest' }, follow: true }).subscribe(({ value }) => {
      while (left.length > 0 && value.version >= left[0]!.after) {
        for (const one of left.shift()!.what) {
          void log.commit((tx) => {
            tx.append(topics.control, one);
            tx.append(topics.control, one);
          });
        }
      }
      if (value.version >= until) stop.abort();
    });
    return log;
  };
  return (await tinyCalibration({ ...options, open, signal: stop.signal })).end;
}

interface Found {
  readonly records: RunRecords;
  readonly control: readonly ControlRecord[];
}

/** What holds for a question by the manifests, as a reader of the log finds it. */
function heldFor({ records, control }: Found, lagMax: number, question: Question) {
  const due = versionDue(question, records.weights, { batchGroups, window: explore })!;
  const seen = new Set<string>();
  const once = control.filter(({ id }) => !seen.has(id) && seen.add(id));
  const { controls } = records.weights[Math.max(0, due - lagMax)]!;
  return Object.fromEntries(
    once.slice(0, controls).map(({ setting, value }) => [setting, JSON.parse(value) as unknown]),
  ) as { readonly sigmas?: readonly number[]; readonly keep?: number };
}

/** Every group was scored, and every window chosen from, by what held for its version. */
function expectObeyed(found: Found, lagMax: number): void {
  const { scored, selected } = found.records;
  let quiet = 0;
  for (const { question, rewards, toolCalls } of scored) {
    if (question.phase === 'evaluate' || new Set(toolCalls).size === 1) continue;
    const { sigmas } = heldFor(found, lagMax, question);
    const factors = new Set(rewards.map(({ parts }) => parts.tool));
    expect([question.id, factors.size === 1]).toEqual([question.id, sigmas?.[0] === 0]);
    quiet += factors.size === 1 ? 1 : 0;
  }
  expect(quiet).toBeGreaterThan(0);
  let fewer = 0;
  for (const round of new Set(selected.map(({ question }) => question.round))) {
    const verdicts = selected.filter(({ question }) => question.round === round);
    if (verdicts.length < explore) continue;
    const { keep = tinySettings.keep } = heldFor(found, lagMax, verdicts[0]!.question);
    const kept = verdicts.filter((one) => one.kept).length;
    expect(kept).toBeLessThanOrEqual(keep);
    fewer += keep === 3 && kept > 0 ? 1 : 0;
  }
  expect(fewer).toBeGreaterThan(0);
}

async function read(folder: string): Promise<Found> {
  const records = await readRun(folder);
  const log = await openLog({ folder: join(folder, 'log'), mode: 'read' });
  const control: ControlRecord[] = [];
  await log
    .tap(topics.control, { from: { kind: 'earliest' }, follow: false })
    .forEach(({ value }) => void control.push(value));
  await log.close();
  return { records, control };
}

const cases = [
  { name: 'the embedded log', skip: null, kafka: false, lagMax: 0 },
  { name: 'the embedded log, at lag 2', skip: null, kafka: false, lagMax: 2 },
  { name: 'Kafka', skip: noKafka, kafka: true, lagMax: 0 },
];

describe.each(cases)('settings that change, on $name', ({ skip, kafka, lagMax }) => {
  const it = skip === null ? test : test.skip;

  it('apply from one step on to everything due it, even when killed, resumed and recomputed', async () => {
    const folder = fresh();
    const name = freshRun();
    const open = () =>
      openKafkaLog({
        topics: allTopics,
        url: kafkaUrl,
        run: name,
        mode: 'write',
        clock: manualClock(),
      });
    const settings = { rounds: 'forever', lagMax, concurrency: 5 } as const;
    const at = { folder, settings, ...(kafka ? { open } : {}) };
    const first = { after: 1, what: [set('sigmas', [0]), set('temperature', 0.5)] };
    expect(await run({ ...at, timing: 1 }, { until: 4, tell: [first] })).toBe('stopped');
    // Dead in the middle of things, with a change under way.
    const fate = { commitsLeft: 40, lastIsWritten: true };
    const second = { after: 4, what: [set('keep', 3), set('concurrency', 1)] };
    await run({ ...at, timing: 2, fate }, { until: 1e9, tell: [second] });
    const third = { after: 8, what: [set('sigmas', [0.4]), set('lr', 1e-3)] };
    expect(await run({ ...at, timing: 3 }, { until: 14, tell: [third] })).toBe('stopped');

    const copied = fresh();
    if (kafka)
      await copyRun({ topics: allTopics, url: kafkaUrl, run: name, folder: join(copied, 'log') });
    const found = await read(kafka ? copied : folder);
    const counts = found.records.weights.map(({ controls }) => controls);
    expect(counts[0]).toBe(0);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBe(6);
    expectObeyed(found, lagMax);
    const rates = found.records.metrics.filter((one) => one.name === 'lr');
    for (const { step, value } of rates) {
      const { controls } = found.records.weights[Math.max(0, step - 1 - lagMax)]!;
      expect([step, value]).toEqual([step, controls === 6 ? 1e-3 : tinySettings.lr]);
    }
    expect(new Set(rates.map(({ value }) => value)).size).toBe(2);

    const scratch = fresh();
    mkdirSync(join(scratch, 'log'));
    const recorded = await openLog({ folder: join(kafka ? copied : folder, 'log'), mode: 'read' });
    const log = await openLog({ folder: join(scratch, 'log'), mode: 'write' });
    const again = await verify({
      ...{ job: tinyJob({ timing: 1000 }), run: 'tiny', seed: 7, folder: scratch },
      settings: { ...tinySettings, ...settings },
      ...{ recorded, scratch: log, clock: manualClock(5), print: () => undefined },
      signal: new AbortController().signal,
    });
    await log.close();
    await recorded.close();
    expect(again).toMatchObject({ difference: null, weights: counts.length });
  });
});
