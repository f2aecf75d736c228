import { describe, expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import { frontAmong, type ParetoFrontOptions, paretoFront } from '../../operators/paretoFront.ts';
import type { Point } from '../../operators/sampling/fronts.ts';
import type { Objective } from '../../operators/sampling/objectives.ts';
import type { Scored, Selected } from '../../streams/records.ts';
import { topics } from '../../streams/topics.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { pairwiseFronts } from '../support/pairwisePareto.ts';
import { question } from '../support/records.ts';
import { rewards, scored } from '../support/scored.ts';

const groups = (count: number, seed: number): Scored[] =>
  Array.from({ length: count }, (_, i) => {
    const stream = draws('groups', seed, i);
    const four = [0, 1, 2, 3];
    return scored({
      question: question({ id: `q${i}` }),
      toolCalls: four.map((k) => stream.integer(k, 4)),
      rewards: rewards(four.map((k) => stream.integer(10 + k, 2))),
    });
  });

const make = (over: Partial<ParetoFrontOptions> = {}) =>
  paretoFront({ memory: 8, fronts: 1, recent: async () => [], ...over });

const judged = async (
  values: readonly Scored[],
  over: Partial<ParetoFrontOptions> = {},
): Promise<readonly Selected[]> => {
  const { outputs, unsettled } = await runOperator(make(over), topics.scored, values);
  expect(unsettled).toBe(0);
  return outputs;
};

obeysOperatorLaws('paretoFront', make, { topic: topics.scored, values: groups(5, 1) });

describe('the front of a point among others', () => {
  test('is the one that sorting all of them pair by pair gives it', () => {
    for (let seed = 0; seed < 300; seed++) {
      const stream = draws('points', seed);
      const count = 1 + stream.integer(0, 25);
      const points = Array.from(
        { length: count },
        (_, i): Point => [stream.integer(2 * i + 1, 6), stream.integer(2 * i + 2, 6)],
      );
      const fronts = pairwiseFronts(points);
      for (const [i, point] of points.entries()) {
        const others = points.filter((_, j) => j !== i);
        expect(frontAmong(point, others)).toBe(fronts.findIndex((front) => front.includes(i)));
      }
    }
  });
});

describe('paretoFront', () => {
  test('keeps what none of the last groups dominates, at once', async () => {
    const outputs = await judged(groups(60, 2), { memory: 5 });
    const points = outputs.map(({ objectives }) => objectives as unknown as Point);
    for (const [i, { kept, front }] of outputs.entries()) {
      const memory = points.slice(Math.max(0, i - 5), i);
      const dominated = memory.some(
        (p) =>
          p[0] >= points[i]![0] &&
          p[1] >= points[i]![1] &&
          (p[0] > points[i]![0] || p[1] > points[i]![1]),
      );
      expect(kept).toBe(!dominated);
      expect(front === 0).toBe(kept);
    }
    expect(outputs.some(({ kept }) => kept)).toBe(true);
    expect(outputs.some(({ kept }) => !kept)).toBe(true);
  });

  test('keeps more layers when asked to', async () => {
    const kept = async (fronts: number): Promise<number> =>
      (await judged(groups(60, 3), { fronts })).filter((verdict) => verdict.kept).length;
    expect(await kept(2)).toBeGreaterThan(await kept(1));
    expect(await kept(9)).toBe(60);
  });

  test('judges on after a restart as if it had never stopped', async () => {
    const all = groups(40, 4);
    const whole = await judged(all);
    const before = await judged(all.slice(0, 23));
    const after = await judged(all.slice(23), { recent: async () => before });
    const verdict = ({ question: { id }, front, kept }: Selected) => ({ id, front, kept });
    expect([...before, ...after].map(verdict)).toEqual(whole.map(verdict));
  });

  test('takes the objectives that it is given', async () => {
    const byName: Objective = (group) => Number(group.question.id.slice(1));
    const outputs = await judged(groups(10, 5), { objectives: [byName, () => 0] });
    expect(outputs.every(({ kept }) => kept)).toBe(true);
  });
});
