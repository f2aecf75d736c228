/**
 * A calibration with `rounds=forever`: what it does until it is stopped, resumed and recomputed, on both
 * logs.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { filter, take } from 'rxjs';
import { verify } from '../../jobs/replay/verify.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { copyRun } from '../../streams/kafka/copyRun.ts';
import { openKafkaLog } from '../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../streams/log.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { allTopics, topics, versionDue } from '../../topics/index.ts';
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

const endless = { rounds: 'forever' } as const;
const { explore, heldOut, batchGroups } = tinySettings;

/** Runs it until the version is committed; then it is stopped in order. */
async function until(version: number, options: TinyOptions): Promise<string> {
  const stop = new AbortController();
  const opening =
    options.open ??
    (() => openLog({ folder: join(options.folder, 'log'), mode: 'write', clock: manualClock() }));
  const open = async (): Promise<Log> => {
    const log = await opening();
    log
      .tap(topics.weights, { from: { kind: 'earliest' }, follow: true })
      .pipe(
        filter(({ value }) => value.version >= version),
        take(1),
      )
      .subscribe(() => stop.abort());
    return log;
  };
  return (await tinyCalibration({ ...options, open, signal: stop.signal })).end;
}

/**
 * Every rollout was sampled under exactly the version that its question was due, every step made once, in
 * order.
 */
function expectInOrder(run: RunRecords): void {
  expect(run.deadLetters).toEqual([]);
  const steps = run.batches.map(({ step }) => step);
  expect(steps).toEqual(steps.map((_, i) => i + 1));
  expect(run.weights.map(({ version }) => version)).toEqual(run.weights.map((_, i) => i));
  const ids = run.rollouts.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { question, segments, version } of run.rollouts) {
    const due = versionDue(question, run.weights, { batchGroups, window: explore });
    expect(new Set([version, ...segments.map((one) => one.version)])).toEqual(new Set([due]));
  }
  const rounds = run.questions.map(({ round }) => round);
  expect(rounds).toEqual(rounds.toSorted((a, b) => a - b));
}

/** What the first `count` steps made, and of what. */
function course({ batches, weights }: RunRecords, count: number) {
  return {
    batches: batches.slice(0, count).map(({ groups, ...batch }) => ({
      ...batch,
      groups: groups.map(({ questionId }) => questionId),
    })),
    digests: weights.slice(0, count + 1).map(({ digest }) => digest),
  };
}

const logs = [
  { name: 'the embedded log', skip: null, kafka: false },
  { name: 'Kafka', skip: noKafka, kafka: true },
];

describe.each(logs)('rounds=forever on $name', ({ skip, kafka }) => {
  const it = skip === null ? test : test.skip;

  it('goes on until it is stopped, stopped and resumed as if it had not been, and is verified', async () => {
    const folder = fresh();
    const run = freshRun();
    const open = () =>
      openKafkaLog({ topics: allTopics, url: kafkaUrl, run, mode: 'write', clock: manualClock() });
    const at = { folder, settings: endless, ...(kafka ? { open } : {}) };
    expect(await until(3, { ...at, timing: 1 })).toBe('stopped');
    expect(await until(5, { ...at, timing: 2 })).toBe('stopped');
    // More passes over the 37 questions than one.
    expect(await until(14, { ...at, timing: 3, settings: { ...endless, concurrency: 5 } })).toBe(
      'stopped',
    );
    const copied = fresh();
    if (kafka)
      await copyRun({ topics: allTopics, url: kafkaUrl, run, folder: join(copied, 'log') });
    const records = await readRun(kafka ? copied : folder);
    expectInOrder(records);
    const made = records.weights.length - 1;
    expect(made).toBeGreaterThanOrEqual(14);
    expect(records.questions.length).toBeGreaterThan(37 + 5 * heldOut);

    const undisturbed = fresh();
    await until(made, { folder: undisturbed, settings: endless, timing: 9 });
    expect(course(await readRun(undisturbed), made)).toEqual(course(records, made));

    const scratch = fresh();
    mkdirSync(join(scratch, 'log'));
    const recorded = await openLog({ folder: join(kafka ? copied : folder, 'log'), mode: 'read' });
    const log = await openLog({ folder: join(scratch, 'log'), mode: 'write' });
    const again = await verify({
      ...{ job: tinyJob({ timing: 1000 }), run: 'tiny', seed: 7, folder: scratch },
      settings: { ...tinySettings, ...endless },
      ...{ recorded, scratch: log, clock: manualClock(5), print: () => undefined },
      signal: new AbortController().signal,
    });
    await log.close();
    await recorded.close();
    expect(again).toMatchObject({ difference: null, weights: records.weights.length });
  });
});

test('with rounds=forever, sigma and learning rate follow the steps of the run', async () => {
  const folder = fresh();
  const sigmaSteps: [number, number][] = [
    [2, 0],
    [3, 0.5],
  ];
  const lrSteps: [number, number][] = [
    [1, 1e-3],
    [5, 2e-3],
  ];
  await until(7, { folder, settings: { ...endless, sigmaSteps, lrSteps } });
  const run = await readRun(folder);
  const rates = run.metrics.filter(({ name }) => name === 'lr').map(({ value }) => value);
  for (const [i, rate] of [1, 1.25, 1.5, 1.75, 2, 2, 2].entries()) {
    expect(rates[i]).toBeCloseTo(rate * 1e-3, 12);
  }
  let weighed = 0;
  for (const { question, rewards, toolCalls } of run.scored) {
    if (question.phase !== 'practice' || new Set(toolCalls).size === 1) continue;
    const step = versionDue(question, run.weights, { batchGroups, window: explore })! + 1;
    const factors = new Set(rewards.map(({ parts }) => parts.tool));
    expect([step, factors.size > 1]).toEqual([step, step > 2]);
    weighed += step > 2 ? 1 : 0;
  }
  expect(weighed).toBeGreaterThan(0);
});
