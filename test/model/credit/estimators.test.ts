import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { type AdvantageName, advantageEstimators } from '../../../model/credit/estimators.ts';
import { whitened } from '../../../model/credit/whitened.ts';
import { perGroup } from '../../oracles/batch.ts';
import { reinforcePlusPlus, reinforcePlusPlusBaseline } from '../../oracles/tokenAdvantages.ts';

const names = Object.keys(advantageEstimators) as AdvantageName[];
const stream = draws('estimators');
/** Four groups of three rollouts, of 2 to 9 tokens. */
const SCORES = Array.from({ length: 12 }, (_, i) => stream.uniform(i) * 2 - 1);
const GROUPS = SCORES.map((_, i) => Math.floor(i / 3));
const LENGTHS = SCORES.map((_, i) => 2 + stream.integer(100 + i, 8));
const MASK = LENGTHS.map((length) => Array<number>(length).fill(1));

/** Advantages of tokens as score and trainer make them together. */
function perToken(name: AdvantageName, mask: readonly (readonly number[])[]): number[][] {
  const { group, whiten } = advantageEstimators[name];
  const spread = perGroup(group, SCORES, GROUPS, LENGTHS).map((advantage, i) =>
    Array<number>(LENGTHS[i]!).fill(advantage),
  );
  const made = whiten ? whitened(spread, mask) : spread;
  return made.map((row, i) => Array.from(row, (item, t) => item * mask[i]![t]!));
}

function near(made: readonly (readonly number[])[], wanted: readonly (readonly number[])[]): void {
  expect(made.map((row) => row.length)).toEqual(wanted.map((row) => row.length));
  made.flat().forEach((item, i) => {
    expect(item).toBeCloseTo(wanted.flat()[i]!, 12);
  });
}

describe('the advantage estimator', () => {
  test.each(names)('%s takes a group of one, as evaluations may have', (name) => {
    const [only] = advantageEstimators[name].group([0.5], [10]);
    expect(Number.isFinite(only)).toBe(true);
  });

  test.each(names)('%s gives every rollout a finite advantage, in order', (name) => {
    const made = perToken(name, MASK);
    expect(made.flat().every(Number.isFinite)).toBe(true);
    expect(made.map((row) => row.length)).toEqual(LENGTHS);
    expect(new Set(made.flat()).size).toBeGreaterThan(1);
  });

  test('reinforce++ is that of the reference with the score at the last token and discount 1', () => {
    const rewards = LENGTHS.map((length, i) => [...Array(length - 1).fill(0), SCORES[i]!]);
    near(perToken('reinforce++', MASK), reinforcePlusPlus(rewards, MASK, 1).advantages);
  });

  test('reinforce++-baseline is that of the reference, whatever is masked', () => {
    const holes = MASK.map((row) => row.map((_, t) => (t === 1 ? 0 : 1)));
    for (const mask of [MASK, holes]) {
      near(perToken('reinforce++-baseline', mask), reinforcePlusPlusBaseline(SCORES, GROUPS, mask));
    }
  });

  test('opo weighs by what the policy wrote', () => {
    expect(advantageEstimators.opo.group([1, 0], [30, 10])).toEqual([0.25, -0.75]);
  });
});

describe('whitening', () => {
  test('gives mean 0 and deviation 1 over the policy tokens', () => {
    const made = whitened([[3, 3, 100], [1]], [[1, 1, 0], [1]]);
    const policy = [made[0]![0]!, made[0]![1]!, made[1]![0]!];
    expect(policy.reduce((a, b) => a + b, 0)).toBeCloseTo(0, 6);
    expect(policy.reduce((sum, item) => sum + item ** 2, 0) / 2).toBeCloseTo(1, 6);
  });

  test('leaves a batch of one token alone', () => {
    expect(whitened([[3, 1]], [[1, 0]])).toEqual([[3, 1]]);
  });
});
