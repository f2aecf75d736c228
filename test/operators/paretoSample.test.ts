import { describe, expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import { type ParetoOptions, paretoSample } from '../../operators/paretoSample.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { type Ability, type Scored, type Selected, topics } from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { question } from '../support/records.ts';
import { rewards, scored, shuffledBy } from '../support/scored.ts';

const candidate = (
  id: string,
  toolCalls: readonly number[],
  raw: readonly number[],
  ability: Ability = 'math',
  round = 1,
): Scored =>
  scored({
    question: question({ id, round, ability }),
    toolCalls,
    rewards: rewards(raw),
    version: 2,
  });

/** The worked example of ET-Agent reference §7.5. */
const example = [
  candidate('a', [0, 0, 0, 0], [0, 1, 0, 1]),
  candidate('b', [0, 4, 0, 4], [1, 1, 1, 0]),
  candidate('c', [0, 2, 0, 2], [0, 1, 1, 0]),
  candidate('d', [0, 4, 0, 4], [1, 1, 1, 0]),
  candidate('e', [1, 1, 1, 1], [1, 1, 1, 1]),
  candidate('f', [0, 6, 0, 6], [0, 0, 0, 0]),
  candidate('g', [0, 2, 0, 2], [0.7, 0.8, 0.1, 0.9], 'qa'),
];
const make = (over: Partial<ParetoOptions> = {}) =>
  paretoSample({ keep: 4, window: 7, mixedOnly: true, seed: 1, openMax: 2, ...over });

async function verdicts(
  over: Partial<ParetoOptions>,
  values: readonly Scored[] = example,
): Promise<Map<string, Selected>> {
  const run = await runOperator(make(over), topics.scored, values);
  expect(run.unsettled).toBe(0);
  return new Map(run.outputs.map((selected) => [selected.question.id, selected]));
}

const keptIds = (all: ReadonlyMap<string, Selected>): string[] =>
  [...all.values()]
    .filter(({ kept }) => kept)
    .map(({ question: { id } }) => id)
    .sort();

obeysOperatorLaws('paretoSample', make, { topic: topics.scored, values: example });

describe('paretoSample on the worked example', () => {
  test('finds objectives and fronts', async () => {
    const all = await verdicts({});
    expect(Object.fromEntries([...all].map(([id, { front }]) => [id, front]))).toEqual({
      a: 1,
      b: 0,
      c: 0,
      d: 0,
      e: 2,
      f: 0,
      g: 1,
    });
    expect(all.get('a')!.objectives).toEqual([0, 0.25]);
    expect(all.get('b')!.objectives).toEqual([4, 0.1875]);
    expect(all.get('f')!.objectives).toEqual([9, 0]);
    expect(all.get('g')!.objectives[1]).toBeCloseTo(0.096875, 12);
  });

  test.each([
    [7, ['a', 'b', 'c', 'd', 'g']],
    [4, ['b', 'c', 'd']],
    [2, ['c']],
  ])('keeps what the reference keeps of the best %p', async (keep, expected) => {
    expect(keptIds(await verdicts({ keep }))).toEqual(expected);
  });

  test('records why each was kept or not', async () => {
    const why = async (keep: number): Promise<Record<string, string>> =>
      Object.fromEntries([...(await verdicts({ keep }))].map(([id, verdict]) => [id, verdict.why]));
    expect(await why(4)).toEqual({
      a: 'dominated',
      b: 'selected',
      c: 'selected',
      d: 'selected',
      e: 'dominated',
      f: 'uniform',
      g: 'dominated',
    });
    expect(await why(2)).toEqual({
      a: 'dominated',
      b: 'crowded',
      c: 'selected',
      d: 'crowded',
      e: 'dominated',
      f: 'uniform',
      g: 'dominated',
    });
  });

  test('gives crowding distances only of the truncated front', async () => {
    const all = await verdicts({ keep: 2 });
    const distances = Object.fromEntries([...all].map(([id, { distance }]) => [id, distance]));
    expect(distances).toEqual({
      a: null,
      b: 1.125,
      c: Infinity,
      d: 0.875,
      e: null,
      f: Infinity,
      g: null,
    });
  });

  test('keeps the best one of a round with none to practise', async () => {
    const all = await verdicts({ keep: 1 });
    expect(keptIds(all)).toEqual(['f']);
    expect(all.get('f')).toMatchObject({ index: 0, of: 1, why: 'selected' });
  });

  test('without mixedOnly keeps groups that differ only in tool calls', async () => {
    expect(keptIds(await verdicts({ keep: 7, mixedOnly: false }))).toEqual([
      ...['a', 'b', 'c', 'd', 'f', 'g'],
    ]);
  });

  test('gives the same verdicts whatever the order of the candidates', async () => {
    const first = await verdicts({ keep: 3 });
    for (let seed = 0; seed < 20; seed++) {
      const values = shuffledBy(example, seed);
      for (const [id, verdict] of await verdicts({ keep: 3 }, values)) {
        expect(values[verdict.scored.offset]!.question.id).toBe(id);
        expect({ ...verdict, scored: null }).toEqual({ ...first.get(id), scored: null });
      }
    }
  });
});

describe('paretoSample', () => {
  const many = (round: number, count = 30): Scored[] =>
    Array.from({ length: count }, (_, i) => {
      const stream = draws('candidates', round, i);
      const numbers = (below: number): number[] =>
        [0, 1, 2, 3].map((k) => stream.integer(k, below));
      return candidate(`q${String(i).padStart(2, '0')}`, numbers(6), numbers(2), 'math', round);
    });

  test('gives the kept places 0 … n - 1, in an order that follows the seed and the round', async () => {
    const places = async (seed: number, round: number): Promise<string[]> => {
      const all = [...(await verdicts({ keep: 12, window: 30, seed }, many(round))).values()];
      const kept = all.filter((verdict) => verdict.kept);
      expect(kept.map(({ index }) => index).sort((a, b) => a - b)).toEqual(kept.map((_, i) => i));
      for (const verdict of all) {
        expect(verdict).toMatchObject({ of: kept.length, version: 2 });
        if (!verdict.kept) expect(verdict.index).toBe(-1);
      }
      return kept.sort((a, b) => a.index - b.index).map(({ question: { id } }) => id);
    };
    const first = await places(1, 1);
    expect(first.length).toBeGreaterThan(6);
    expect(await places(1, 1)).toEqual(first);
    const other = await places(2, 1);
    expect(other).not.toEqual(first);
    expect([...other].sort()).toEqual([...first].sort());
    expect(await places(1, 2)).not.toEqual(first);
  });

  test('waits for the whole round, and gives every candidate one verdict in one commit', async () => {
    const short = await runOperator(make({ window: 30 }), topics.scored, many(1).slice(1));
    expect(short.outputs).toEqual([]);
    const whole = await runOperator(make({ window: 30 }), topics.scored, many(1));
    expect(new Set(whole.outputs.map(({ question: { id } }) => id)).size).toBe(30);
    expect(whole.commits).toHaveLength(1);
  });

  test('emits the kept ones first, in the order of their places', async () => {
    const { outputs } = await runOperator(make({ window: 30, keep: 12 }), topics.scored, many(1));
    const kept = outputs.filter((verdict) => verdict.kept);
    expect(outputs.slice(0, kept.length)).toEqual(kept);
    expect(kept.map(({ index }) => index)).toEqual(kept.map((_, i) => i));
  });

  describe('over scheduled candidates', () => {
    const scheduled = many(2, 10).map((one, index) => ({
      ...one,
      question: { ...one.question, schedule: { index, of: 10, version: 6 } },
    }));
    const windows = (values: readonly Scored[], over: Partial<ParetoOptions> = {}) =>
      runOperator(make({ window: 4, keep: 2, openMax: 3, ...over }), topics.scored, values);
    const number = ({ question }: Selected): number => Math.floor(question.schedule!.index / 4);

    test('sorts each window by itself, the last one as it is', async () => {
      const { outputs, commits, unsettled } = await windows(scheduled);
      expect(unsettled).toBe(0);
      expect(commits.map(({ settled }) => settled.length)).toEqual([4, 4, 2]);
      for (const window of [0, 1, 2]) {
        const kept = outputs.filter((verdict) => number(verdict) === window && verdict.kept);
        expect(kept.map(({ index, of }) => [index, of])).toEqual(
          kept.map((_, i) => [i, kept.length]),
        );
        expect(kept.length).toBeGreaterThan(0);
        expect(kept.length).toBeLessThanOrEqual(2);
      }
    });

    test('records the version due for each window, however old its rollouts are', async () => {
      const { outputs } = await windows(scheduled);
      for (const verdict of outputs) expect(verdict.version).toBe(6 + number(verdict));
    });

    test('gives the same verdicts whatever the order of the candidates', async () => {
      const verdict = ({ scored: _, ...rest }: Selected): string => JSON.stringify(rest);
      const first = (await windows(scheduled)).outputs.map(verdict).sort();
      for (let seed = 0; seed < 10; seed++) {
        const { outputs } = await windows(shuffledBy(scheduled, seed));
        expect(outputs.map(verdict).sort()).toEqual(first);
      }
    });

    test('fails if more windows are open than allowed', async () => {
      const run = windows(
        scheduled.filter((_, i) => i % 4 === 0),
        { openMax: 2 },
      );
      await expect(run).rejects.toMatchObject({ code: 'GATHER_FULL' });
    });
  });

  test('settles groups of other phases without a verdict', async () => {
    const others = (['practice', 'evaluate'] as const).map((phase) =>
      scored({ question: question({ phase }) }),
    );
    const run = await runOperator(make(), topics.scored, [...others, ...example]);
    expect(run.outputs).toHaveLength(7);
    expect(run.unsettled).toBe(0);
  });
});

describe('sampling', () => {
  test('may use windows of a number of candidates, whatever their round', async () => {
    const values = Array.from({ length: 10 }, (_, i) =>
      candidate(`q${i}`, [0, i], [0, 1], 'math', i),
    );
    const all = await verdicts({ by: 'count', window: 5, keep: 1 }, values);
    expect(keptIds(all)).toEqual(['q4', 'q9']);
  });

  test('may use other objectives', async () => {
    const all = await verdicts({
      mixedOnly: false,
      keep: 1,
      objectives: [({ question: { id } }) => (id === 'e' ? 1 : 0), () => 0],
    });
    expect(all.get('e')).toMatchObject({ front: 0, objectives: [1, 0] });
  });

  test('at random keeps any groups, uniform ones too, by the seed', async () => {
    const kept = new Set<string>();
    for (let seed = 0; seed < 20; seed++) {
      const ids = keptIds(await verdicts({ sampler: 'random', seed }));
      expect(ids).toHaveLength(4);
      for (const id of ids) kept.add(id);
    }
    expect(kept.size).toBe(7);
  });

  test('with the paper’s crowding has finite ends, and the deviation as spread', async () => {
    const all = await verdicts({ mode: 'paper', keep: 2 });
    expect(all.get('f')!.objectives).toEqual([3, 0]);
    // Tool calls 1, 2, 2, 3 and correctness .5, sqrt(3)/4 twice, 0 for c, b, d, f.
    const [gap, corr] = [1 / 2, (0.5 - Math.sqrt(3) / 4) / 0.5];
    expect(all.get('c')!.distance).toBeCloseTo(gap + corr);
    expect(all.get('f')!.distance).toBeCloseTo(gap + Math.sqrt(3) / 4 / 0.5);
  });

  test('with several epochs gives the kept a place in each, in another order', async () => {
    const all = await verdicts({ epochs: 3, mixedOnly: false });
    const once = await verdicts({ mixedOnly: false });
    const placed = [...all.values()].filter(({ kept }) => kept).sort((a, b) => a.index - b.index);
    expect(placed.map(({ index }) => index)).toEqual(Array.from({ length: 12 }, (_, i) => i));
    expect(new Set([...all.values()].map(({ of }) => of))).toEqual(new Set([12]));
    const idsOf = (epoch: number): string[] =>
      placed.slice(4 * epoch, 4 * epoch + 4).map(({ question: { id } }) => id);
    expect([...idsOf(0)].sort()).toEqual(keptIds(once));
    expect([...idsOf(1)].sort()).toEqual(keptIds(once).map((id) => `${id}~2`));
    expect([...idsOf(2)].sort()).toEqual(keptIds(once).map((id) => `${id}~3`));
    expect(idsOf(1).map((id) => id.slice(0, -2))).not.toEqual(idsOf(0));
  });
});
