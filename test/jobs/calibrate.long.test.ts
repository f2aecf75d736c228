import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { type Question, versionDue } from '../../topics/index.ts';
import { freshFolders } from '../support/folder.ts';
import { expectSound } from '../support/rolloutOptions.ts';
import {
  type RunRecords,
  readRun,
  type TinyOptions,
  tinyCalibration,
  tinyFlow,
  tinySettings,
} from '../support/tinyCalibration.ts';

const { rounds, explore, heldOut, evaluationRollouts, rollouts, batchGroups } = tinySettings;

/** With `select: 'groups'`: 10 candidates in 3 steps. */
const WINDOW = 4;

const fresh = freshFolders();

const twice = (keys: readonly string[]): string[] =>
  keys.filter((key, i) => keys.indexOf(key) !== i);
const asked = ({ id, phase, round }: Question): string => `${id}/${phase}-${round}`;

/** What holds true of every finished run, however often it was disturbed. */
function expectWhole(run: RunRecords, folder: string): void {
  const kept = run.selected.filter((selected) => selected.kept);
  const again = run.batches.some(
    ({ groups }) => run.scored[groups[0]!.scored.offset]!.question.phase === 'practice',
  )
    ? kept.length
    : 0;
  expect(run.deadLetters).toEqual([]);
  expect(run.lags).toEqual([]);
  expect(run.questions).toHaveLength(heldOut * (rounds + 1) + explore * rounds);
  expect(run.selected).toHaveLength(explore * rounds);

  expect(twice(run.rollouts.map(({ id }) => id))).toEqual([]);
  expect(run.rollouts).toHaveLength(
    heldOut * (rounds + 1) * evaluationRollouts + (explore * rounds + again) * rollouts,
  );
  for (const rollout of run.rollouts) expectSound(rollout, tinySettings.responseMax);

  expect(twice(run.scored.map(({ question }) => asked(question)))).toEqual([]);
  expect(run.scored).toHaveLength(run.questions.length + again);

  // At a lag the topic may hold a later step before an earlier one; they are made in order all the same.
  const steps = run.batches.map(({ step }) => step).sort((a, b) => a - b);
  expect(steps).toEqual(steps.map((_, i) => i + 1));
  expect(run.weights.map(({ version }) => version)).toEqual([0, ...steps]);
  expect(run.weights.map(({ parent }) => parent)).toEqual([-1, 0, ...steps.slice(0, -1)]);
  expect(run.weights.at(-1)!.roundsDone).toBe(rounds);
  // Every kept group is trained on, once.
  const trained = run.batches.flatMap(({ groups, round }) =>
    groups.map(({ questionId }) => `${round}/${questionId}`),
  );
  const selected = kept.map(({ question: { id, round } }) => `${round}/${id}`);
  expect(trained.sort()).toEqual(selected.sort());

  const calls = run.toolCalls.map(({ rolloutId, turn }) => `${rolloutId}#${turn}`);
  expect(twice(calls)).toEqual([]);
  expect(twice(run.metrics.map(({ name, step, round }) => `${name} ${step} ${round}`))).toEqual([]);
  const lines = readFileSync(join(folder, 'metrics.jsonl'), 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { offset: number }).offset)).toEqual(
    run.metrics.map((_, offset) => offset),
  );
}

/** Each rollout was sampled under exactly the version that its question was due. */
function expectOnPolicy(run: RunRecords): void {
  for (const { question, segments, version } of run.rollouts) {
    const due = versionDue(question, run.weights, { batchGroups, window: WINDOW });
    expect(new Set([version, ...segments.map((segment) => segment.version)])).toEqual(
      new Set([due]),
    );
  }
}

/** What must not depend on timing or on crashes: everything but where records happen to be. */
function essence({ rollouts, toolCalls, batches, weights, metrics, selected }: RunRecords) {
  const byText = <T>(items: readonly T[]): string[] =>
    items.map((item) => JSON.stringify(item)).sort();
  return {
    rollouts: byText(
      rollouts.map((one) => ({ ...one, tokens: [...one.tokens], logProbs: [...one.logProbs] })),
    ),
    toolCalls: byText(toolCalls),
    selected: byText(selected.map((one) => ({ ...one, scored: null }))),
    batches: batches.map((one) => ({
      ...one,
      groups: one.groups.map(({ questionId }) => questionId),
    })),
    weights,
    // how long this process stood still is measured, not computed
    metrics: byText(metrics.filter(({ name }) => name !== 'time/loop_gap_ms')),
  };
}

async function whole(options: Omit<TinyOptions, 'folder'> = {}): Promise<RunRecords> {
  const folder = fresh();
  expect((await tinyCalibration({ folder, ...options })).end).toBe('quiescent');
  const run = await readRun(folder);
  return run;
}

/** Starts the run again and again, each time to be killed at some commit, until it ends. */
async function killedUntilDone(
  folder: string,
  seed: number,
  settings: TinyOptions['settings'] = {},
) {
  const stream = draws('kill', seed);
  for (let start = 0; ; start++) {
    const fate = {
      commitsLeft: stream.integer(2 * start, 60),
      lastIsWritten: stream.uniform(2 * start + 1) < 0.5,
    };
    const { end } = await tinyCalibration({ folder, settings, timing: 100 * seed + start, fate });
    if (end === 'quiescent') return start;
  }
}

describe('calibrate with several epochs a round', () => {
  test('trains on each kept question once an epoch, afresh, on-policy and in order', async () => {
    const once = await whole();
    const run = await whole({ settings: { epochs: 3 } });
    expect(run.deadLetters).toEqual([]);
    expectOnPolicy(run);
    const kept = (records: RunRecords): number =>
      records.selected.filter((one) => one.kept && one.question.round === 1).length;
    expect(kept(run)).toBe(3 * kept(once));
    const trained = run.batches.flatMap(({ round, groups }) =>
      groups.map(({ questionId }) => `${round}/${questionId}`),
    );
    expect(twice(trained)).toEqual([]);
    const selected = run.selected.filter((one) => one.kept);
    expect(trained.sort()).toEqual(
      selected.map(({ question: { id, round } }) => `${round}/${id}`).sort(),
    );
    expect(essence(await whole({ settings: { epochs: 3, concurrency: 7 }, timing: 4 }))).toEqual(
      essence(run),
    );
  });

  test('may explore candidates with fewer rollouts than it practises with', async () => {
    const run = await whole({ settings: { exploreRollouts: 2 } });
    const sizes = (phase: string) =>
      new Set(run.rollouts.flatMap((one) => (one.question.phase === phase ? [one.groupSize] : [])));
    expect([sizes('explore'), sizes('practice')]).toEqual([new Set([2]), new Set([4])]);
  });

  test('is refused with groups that are trained on as they are', async () => {
    await expect(whole({ settings: { epochs: 2, select: 'groups' } })).rejects.toMatchObject({
      code: 'USAGE',
    });
  });
});

describe.each(['questions', 'groups'] as const)('calibrate, selecting %s,', (select) => {
  test('runs its rounds to the end, on-policy', async () => {
    const folder = fresh();
    const { end, loads } = await tinyCalibration({ folder, settings: { select } });
    expect(end).toBe('quiescent');
    const run = await readRun(folder);
    expectWhole(run, folder);
    expectOnPolicy(run);
    // Every version is loaded once, in turn: each is waited for.
    expect(loads).toEqual(run.weights.map(({ version }) => version));
    expect(run.rollouts.some(({ parent }) => parent !== null)).toBe(true);
    const evaluations = run.metrics.filter(({ name }) => name === 'eval/questions');
    expect(evaluations.map(({ round, value }) => [round, value])).toEqual([
      [0, heldOut],
      [1, heldOut],
      [2, heldOut],
    ]);
  });

  test('makes the same batches and weights whatever the timing', async () => {
    const first = essence(await whole({ timing: 1, settings: { select } }));
    for (const [timing, concurrency] of [
      [2, 1],
      [3, 5],
      [4, 50],
    ] as const) {
      expect(essence(await whole({ timing, settings: { select, concurrency } }))).toEqual(first);
    }
  });

  test('killed at any commit and resumed, comes to the same end', async () => {
    const undisturbed = essence(await whole({ settings: { select } }));
    for (let seed = 0; seed < 5; seed++) {
      const folder = fresh();
      expect(await killedUntilDone(folder, seed, { select })).toBeGreaterThan(0);
      const run = await readRun(folder);
      expectWhole(run, folder);
      expectOnPolicy(run);
      expect(essence(run)).toEqual(undisturbed);
    }
  });

  test('at lag K trains on rollouts that are at most K versions old', async () => {
    for (const lagMax of [1, 3]) {
      const folder = fresh();
      const settings = { select, lagMax, concurrency: 6 };
      expect((await tinyCalibration({ folder, settings })).end).toBe('quiescent');
      const run = await readRun(folder);
      expectWhole(run, folder);
      for (const { groups, version } of run.batches) {
        for (const { scored } of groups) {
          const lag = version - run.scored[scored.offset]!.version;
          expect(lag).toBeGreaterThanOrEqual(0);
          expect(lag).toBeLessThanOrEqual(lagMax);
        }
      }
    }
  });

  test('killed and resumed at lag K writes everything once', async () => {
    for (let seed = 0; seed < 3; seed++) {
      const folder = fresh();
      await killedUntilDone(folder, 50 + seed, { select, lagMax: 2, concurrency: 6 });
      expectWhole(await readRun(folder), folder);
    }
  });
});

describe.each([
  { branching: 'aepo' },
  { branching: 'aepo', dynamicBudget: false },
  { branching: 'none' },
] as const)('calibrate with %j', (settings) => {
  test('comes to the same end whatever the timing, even killed', async () => {
    const folder = fresh();
    expect((await tinyCalibration({ folder, settings, timing: 1 })).end).toBe('quiescent');
    const run = await readRun(folder);
    expectWhole(run, folder);
    expectOnPolicy(run);
    const branched = run.rollouts.filter(({ parent }) => parent !== null);
    expect(branched.length > 0).toBe(settings.branching !== 'none');
    expect(essence(await whole({ timing: 2, settings: { ...settings, concurrency: 5 } }))).toEqual(
      essence(run),
    );
    const again = fresh();
    await killedUntilDone(again, 9, settings);
    expect(essence(await readRun(again))).toEqual(essence(run));
  });
});

describe('calibrate', () => {
  test('trains on other advantages when attribution is hard, unless nothing branches', async () => {
    const digests = async (settings: NonNullable<TinyOptions['settings']>): Promise<string[]> =>
      (await whole({ settings })).weights.map(({ digest }) => String(digest));
    const [soft, hard] = [await digests({}), await digests({ attribution: 'hard' })];
    expect(hard[0]).toBe(soft[0]);
    expect(hard[1]).not.toBe(soft[1]);
    const alone = { branching: 'none' } as const;
    expect(await digests({ ...alone, attribution: 'hard' })).toEqual(await digests(alone));
  });

  test('trains the kept questions of each round in the order of their places', async () => {
    const run = await whole();
    for (let round = 1; round <= rounds; round++) {
      const places = run.selected
        .filter((selected) => selected.kept && selected.question.round === round)
        .sort((a, b) => a.index - b.index)
        .map(({ question }) => question.id);
      const trained = run.batches
        .filter((batch) => batch.round === round)
        .flatMap(({ groups }) => groups.map(({ questionId }) => questionId));
      expect(trained).toEqual(places);
      expect(trained.length).toBeGreaterThan(batchGroups);
    }
  });

  test('trains on the selected groups as they are, a window a step', async () => {
    const run = await whole({ settings: { select: 'groups' } });
    expect(run.rollouts.filter(({ question }) => question.phase === 'practice')).toEqual([]);
    expect(run.batches.map(({ round, last }) => [round, last])).toEqual([
      [1, false],
      [1, false],
      [1, true],
      [2, false],
      [2, false],
      [2, true],
    ]);
    const kept = run.selected.filter((selected) => selected.kept);
    const trained = run.batches.flatMap(({ groups }) => groups.map(({ scored }) => scored.offset));
    expect(trained.sort()).toEqual(kept.map(({ scored }) => scored.offset).sort());
  });

  test('never trains on a held-out question', async () => {
    const run = await whole();
    const held = new Set(
      run.questions.filter(({ phase }) => phase === 'evaluate').map(({ id }) => id),
    );
    expect(held.size).toBe(heldOut);
    for (const { groups } of run.batches) {
      expect(groups.filter(({ questionId }) => held.has(questionId))).toEqual([]);
    }
  });

  test('stopped gracefully and resumed, comes to the same end', async () => {
    const undisturbed = essence(await whole());
    const folder = fresh();
    const ends: string[] = [];
    for (let turns = 40; ends.at(-1) !== 'quiescent'; turns += 40) {
      const abort = new AbortController();
      const running = tinyCalibration({ folder, timing: turns, signal: abort.signal });
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
      abort.abort();
      ends.push((await running).end);
    }
    expect(ends.length).toBeGreaterThan(2);
    const run = await readRun(folder);
    expectWhole(run, folder);
    expect(essence(run)).toEqual(undisturbed);
  });

  test('ends even if no rollout ever succeeds', async () => {
    const run = await whole({
      script: () => {
        throw new Error('the engine is ill');
      },
    });
    expect(run.rollouts.every(({ status }) => status === 'failed')).toBe(true);
    expect(run.weights.at(-1)!.roundsDone).toBe(rounds);
    expect(run.selected.filter(({ kept }) => kept)).toHaveLength(rounds);
  });

  test('gives each gathering stage room for its open groups', async () => {
    const folder = fresh();
    const log = await openLog({ folder: join(folder, 'log'), mode: 'write' });
    const settings = { explore: 900, heldOut: 800, batchGroups: 700, lagMax: 2 };
    const { flow, close } = await tinyFlow({ folder, settings }, log);
    const room = new Map(flow.stages.map(({ name, inflightMax }) => [name, inflightMax]));
    // The world has 40 questions: 12 of them are held out, 28 are candidates.
    expect(room.get('pareto')).toBeGreaterThan(28);
    expect(room.get('measure')).toBeGreaterThan(12);
    expect(room.get('batch')).toBeGreaterThan(3 * 700);
    expect(room.get('trainer')).toBe(3);
    await close();
    await log.close();
  });
});
