import { describe, expect, test } from '@jest/globals';
import { changeNothing, type Fault, faultKinds, faultsOf } from '../../simulate/faults/fault.ts';
import { historyOf } from '../../simulate/faults/history.ts';
import { shrunk } from '../../simulate/faults/shrink.ts';
import { type Shape, shapeOf } from '../../simulate/world/shape.ts';

/** The first seed whose run has these traits. */
function seedWith(is: (shape: Shape) => boolean): number {
  for (let seed = 1; ; seed++) if (is(shapeOf(seed))) return seed;
}

const alone = seedWith(
  ({ processes, settings, method }) =>
    processes.length === 1 && settings.lagMax === 0 && method === 'calibrate',
);
const spread = seedWith(({ processes }) => processes.some(({ name }) => name === 'rollout'));

describe('the faults of a seed', () => {
  test('are the same whenever they are drawn, and of all kinds over many seeds', () => {
    const seen = new Set<string>();
    for (let seed = 1; seed < 200; seed++) {
      const shape = shapeOf(seed);
      const faults = faultsOf(shape);
      expect(faultsOf(shape)).toEqual(faults);
      for (const { kind } of faults) seen.add(kind);
    }
    expect([...seen].sort()).toEqual([...faultKinds].sort());
  });

  test('stay as they are if some kinds are left out', () => {
    for (let seed = 1; seed < 50; seed++) {
      const shape = shapeOf(seed);
      const crashes = faultsOf(shape, ['crash']);
      expect(crashes).toEqual(faultsOf(shape).filter(({ kind }) => kind === 'crash'));
    }
  });
});

describe('a run keeps all laws', () => {
  const faults: readonly Fault[] = [
    { kind: 'crash', point: 40 },
    { kind: 'crash', point: 150 },
    { kind: 'crash', point: 151 },
    { kind: 'kill', fromMs: 1_500, process: 0 },
    { kind: 'full', fromMs: 2_000, forMs: 800 },
    { kind: 'jump', fromMs: 2_500, byMs: -60_000 },
    { kind: 'still', fromMs: 3_000, forMs: 5_000, process: 0 },
    { kind: 'restart', fromMs: 1_000, behind: null },
    { kind: 'restart', fromMs: 4_000, behind: 1 },
    { kind: 'pause', fromMs: 500, forMs: 4_000 },
    { kind: 'stop', fromMs: 900 },
    { kind: 'late', fromMs: 0, forMs: 20_000, share: 0.3 },
  ];

  test('alone, and what goes wrong changes no weights', async () => {
    expect(changeNothing(faults)).toBe(true);
    const history = await historyOf(shapeOf(alone), faults);
    expect(history.breaches).toEqual([]);
    expect(history.starts).toBeGreaterThanOrEqual(5);
  });

  test('spread over processes that share a log, which is away for a while', async () => {
    const away: Fault = { kind: 'broker', fromMs: 1_000, forMs: 3_000 };
    const other: Fault = { kind: 'kill', fromMs: 2_000, process: 1 };
    const history = await historyOf(shapeOf(spread), [...faults, away, other]);
    expect(history.breaches).toEqual([]);
  });

  test('on a broker that elects, where a process is started twice and commits get no answer', async () => {
    const history = await historyOf(shapeOf(spread), [
      { kind: 'elect', fromMs: 400, forMs: 2_000 },
      { kind: 'elect', fromMs: 6_000, forMs: 3_000 },
      { kind: 'twice', fromMs: 3_000, forMs: 5_000, process: 0 },
      { kind: 'twice', fromMs: 4_000, forMs: 6_000, process: 1 },
    ]);
    expect(history.breaches).toEqual([]);
    // Both twice, and at least one that gave a commit up.
    expect(history.starts).toBeGreaterThanOrEqual(5);
  });

  test('without an end, archived, on servers that come back with older weights', async () => {
    const is = ({ stopMs, retention, processes }: Shape): boolean =>
      stopMs !== null && retention !== null && processes.length === 1;
    const shape = { ...shapeOf(seedWith(is)), stopMs: 30_000 };
    const { breaches, versions } = await historyOf(shape, [
      { kind: 'restart', fromMs: 2_500, behind: 1 },
      { kind: 'crash', point: 120 },
      { kind: 'restart', fromMs: 4_000, behind: null },
    ]);
    expect(breaches).toEqual([]);
    expect(versions).toBeGreaterThan(0);
  });

  test('where replies are lost, tools hang or are gone, and settings change', async () => {
    const history = await historyOf(shapeOf(alone), [
      { kind: 'lost', fromMs: 0, forMs: 8_000, share: 0.5 },
      { kind: 'server', fromMs: 9_000, forMs: 4_000 },
      { kind: 'hang', fromMs: 0, forMs: 5_000, share: 0.5 },
      { kind: 'down', fromMs: 1_000, forMs: 2_000 },
      { kind: 'set', fromMs: 300, setting: 'temperature', value: 0.7 },
    ]);
    expect(history.breaches).toEqual([]);
  });

  test('where tools answer a second time, and when they have been given up', async () => {
    const topics = seedWith(
      ({ processes, settings, stopMs }) =>
        processes.length > 1 && settings.toolCalls === 'topics' && stopMs === null,
    );
    const told: string[] = [];
    const history = await historyOf(
      shapeOf(topics),
      [
        { kind: 'again', fromMs: 0, forMs: 60_000, share: 1 },
        { kind: 'overdue', fromMs: 0, forMs: 60_000, share: 0.3 },
        { kind: 'stop', fromMs: 2_000 },
        { kind: 'kill', fromMs: 5_000, process: 0 },
      ],
      (line) => told.push(line),
    );
    expect(history.breaches).toEqual([]);
    expect(told.filter((line) => line.includes('once more')).length).toBeGreaterThan(0);
  });
});

test('a run that waits for what never comes is reported with who waits', async () => {
  const shape = shapeOf(alone);
  const forever: Fault = { kind: 'server', fromMs: 0, forMs: 0 };
  // Its only tool never answers: nothing is wrong, and nothing goes on.
  const stuck = { ...shape, toolMs: 1e12 };
  const { breaches } = await historyOf(stuck, [forever]);
  expect(breaches[0]).toMatch(/the run does not end: no commit for 300 s/);
  expect(breaches[0]).toMatch(/rollout holds \d+ of questions/);
  expect(breaches[0]).toMatch(/rollout has settled questions up to \d+ of \d+/);
});

test('faults are shrunk to the few that make a history fail', async () => {
  const all = Array.from({ length: 12 }, (_, i) => i);
  let asked = 0;
  const fails = async (some: readonly number[]): Promise<boolean> => {
    asked += 1;
    return some.includes(3) && some.includes(10);
  };
  expect(await shrunk(all, fails)).toEqual([3, 10]);
  expect(asked).toBeLessThan(40);
  expect(await shrunk(all, async () => true)).toEqual([]);
});
