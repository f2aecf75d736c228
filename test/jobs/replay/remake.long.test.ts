import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Remade, type RemakeOptions, remake } from '../../../jobs/replay/remake.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { temporaryFolder } from '../../support/folder.ts';
import {
  type RunRecords,
  readRun,
  type TinyOptions,
  tinyCalibration,
  tinyJob,
  tinySettings,
} from '../../support/tinyCalibration.ts';

type Settings = NonNullable<TinyOptions['settings']>;
interface Made extends Remade {
  readonly run: RunRecords;
  readonly generated: number;
  readonly toolsCalled: number;
}

const folders: ReturnType<typeof temporaryFolder>[] = [];
const fresh = (): string => {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder.path;
};
afterEach(() => {
  for (const folder of folders.splice(0)) folder.remove();
});

async function made(
  folder: string,
  from: RemakeOptions['from'],
  settings: Settings,
  tools: RemakeOptions['tools'] = 'recorded',
): Promise<Made> {
  const into = fresh();
  mkdirSync(join(into, 'log'));
  const recorded = await openLog({ folder: join(folder, 'log'), mode: 'read' });
  const log = await openLog({ folder: join(into, 'log'), mode: 'write' });
  let wired: Parameters<NonNullable<Parameters<typeof tinyJob>[0]>['onWired'] & object>[0];
  try {
    const result = await remake({
      job: tinyJob({
        timing: 8,
        onWired: (wiring) => {
          wired = wiring;
        },
      }),
      from,
      tools,
      run: 'again',
      folder: into,
      seed: 7,
      log,
      recorded,
      graceMs: 0,
      settings: { ...tinySettings, ...settings },
      clock: manualClock(),
      signal: new AbortController().signal,
      print: () => undefined,
    });
    return {
      ...result,
      run: await readRun(into),
      generated: wired!.engine.requests.length,
      toolsCalled: wired!.tools.calls.length,
    };
  } finally {
    await log.close();
    await recorded.close();
  }
}

const digests = ({ weights }: RunRecords): (string | null)[] => weights.map(({ digest }) => digest);
const scores = ({ scored }: RunRecords): Map<string, readonly number[]> =>
  new Map(
    scored.map(({ question: { id, phase, round }, rewards }) => [
      `${id}/${phase}-${round}`,
      rewards.map(({ score }) => score),
    ]),
  );

describe.each(['questions', 'groups'] as const)('a run made again, selecting %s,', (select) => {
  const original = temporaryFolder();
  const folder = original.path;
  let then: RunRecords;
  beforeAll(async () => {
    await tinyCalibration({ folder, settings: { select } });
    then = await readRun(folder);
  });
  afterAll(() => original.remove());

  test.each(['scored', 'selected', 'batches', 'weights'] as const)(
    'from %s with the same settings is the same, and generates nothing',
    async (from) => {
      const { run, lag, end, generated, toolsCalled } = await made(folder, from, { select });
      expect(end).toBe('quiescent');
      expect([generated, toolsCalled]).toEqual([0, 0]);
      expect(digests(run)).toEqual(digests(then));
      expect(run.rollouts).toHaveLength(then.rollouts.length);
      expect(scores(run)).toEqual(scores(then));
      const steps = then.batches.length;
      expect(lag).toEqual({ sameSteps: steps, steps, mean: 0, max: 0 });
    },
  );

  test('from scored with another reward has other rewards and weights, and records their lag', async () => {
    const { run, lag, generated } = await made(folder, 'scored', { select, reward: 'accuracy' });
    expect(generated).toBe(0);
    const [before, now] = [scores(then), scores(run)];
    expect([...now].some(([key, rewards]) => `${rewards}` !== `${before.get(key)}`)).toBe(true);
    expect(digests(run)[0]).toBe(digests(then)[0]);
    expect(digests(run).at(-1)).not.toBe(digests(then).at(-1));
    const known = new Set(then.rollouts.map(({ id, text }) => `${id} ${text}`));
    const trained = run.rollouts.filter(({ status }) => status === 'done');
    expect(trained.every(({ id, text }) => known.has(`${id} ${text}`))).toBe(true);
    expect(lag.steps).toBe(run.batches.length);
    expect(lag.sameSteps).toBeLessThan(lag.steps);
    expect(lag.max).toBe(lag.steps - 1 - lag.sameSteps);
    // A measurement of the old policies says nothing of these.
    const measured = run.metrics.filter(({ name }) => name === 'eval/accuracy');
    expect(measured.map(({ round }) => round)).toEqual([0]);
  });

  test('from selected with another count trains on fewer groups, under the rewards that they had', async () => {
    const settings = { select, keep: 3, batchGroups: 3, reward: 'accuracy' } as const;
    const { run } = await made(folder, 'selected', settings);
    const kept = run.selected.filter((verdict) => verdict.kept);
    expect(kept.length).toBeLessThan(then.selected.filter((verdict) => verdict.kept).length);
    expect(run.batches.flatMap(({ groups }) => groups)).toHaveLength(kept.length);
    expect(run.weights.at(-1)!.roundsDone).toBe(2);
    const before = scores(then);
    for (const [key, rewards] of scores(run)) {
      if (rewards.length > 1) expect(rewards).toEqual(before.get(key));
    }
  });

  test('from weights with another rate makes the same batches and other weights', async () => {
    const { run, lag } = await made(folder, 'weights', { select, lr: 1 });
    const groups = ({ batches }: RunRecords) =>
      batches.map((batch) => batch.groups.map(({ questionId }) => questionId));
    expect(groups(run)).toEqual(groups(then));
    expect(digests(run)[1]).not.toBe(digests(then)[1]);
    expect(lag.sameSteps).toBe(0);
  });

  test('measures the new policies when it may run', async () => {
    const settings = { select, lr: 1 };
    const { run, generated } = await made(folder, 'weights', settings, 'recorded-else-live');
    expect(generated).toBeGreaterThan(0);
    const measured = run.metrics.filter(({ name }) => name === 'eval/accuracy');
    expect(measured.map(({ round }) => round)).toEqual([0, 1, 2]);
  });

  test('refuses settings that choose other questions', async () => {
    await expect(made(folder, 'scored', { select, explore: 5 })).rejects.toMatchObject({
      cause: { code: 'REPLAY_PLAN' },
    });
  });

  test('from rollouts rolls everything out again', async () => {
    const { run, generated } = await made(folder, 'rollouts', { select }, 'recorded-else-live');
    expect(generated).toBeGreaterThan(0);
    expect(digests(run)).toEqual(digests(then));
  });
});
