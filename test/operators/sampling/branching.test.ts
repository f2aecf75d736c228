import { describe, expect, test } from '@jest/globals';
import { aepo, aepoDecision, aepoInitialRollouts } from '../../../operators/sampling/aepo.ts';
import { arpo } from '../../../operators/sampling/arpo.ts';
import { planRound } from '../../../operators/sampling/branchBudget.ts';
import { stepEntropy } from '../../../operators/sampling/stepEntropy.ts';

const options = { initialRollouts: 2, beamSize: 2, branchProbability: 0.5, entropyWeight: 0.2 };

describe('stepEntropy', () => {
  test('gives the published anchors', () => {
    const token = [0.5, 0.25, 0.25].map(Math.log);
    expect(stepEntropy([token], 1000)).toBeCloseTo(0.1505149978, 9);
    expect(stepEntropy(new Array(20).fill(token), 1000)).toBeCloseTo(3.0102999566, 9);
  });

  test('looks at the first 20 tokens only and is 0 for none', () => {
    const token = [0.5, 0.5].map(Math.log);
    expect(stepEntropy(new Array(50).fill(token), 10)).toBe(
      stepEntropy(new Array(20).fill(token), 10),
    );
    expect(stepEntropy([], 10)).toBe(0);
  });
});

test('a token of probability 0 adds no entropy', () => {
  expect(stepEntropy([[0, Number.NEGATIVE_INFINITY]], 10)).toBe(0);
});

describe('ARPO', () => {
  /** The number of rounds in a row means nothing to ARPO. */
  const decide = (change: number, uniform: number): boolean =>
    arpo(options).decide(change, uniform, 30);

  test('branches with probability b when the entropy did not change', () => {
    expect(decide(0, 0.5)).toBe(true);
    expect(decide(0, 0.51)).toBe(false);
  });

  test('branches more often when the entropy rose', () => {
    expect(decide(1, 0.65)).toBe(true);
    expect(decide(1, 0.75)).toBe(false);
    expect(decide(-1, 0.4)).toBe(false);
  });
});

describe('AEPO', () => {
  test.each([
    [0, 0, [1, 5, 7, 9]],
    [0.2, 1.4, [1, 3, 5, 6]],
    [3, 0.5, [1, 7, 10, 13]],
    [0, 8, [1, 1, 1, 1]],
  ])('splits a budget for entropies %p and %p as published', (root, tool, wanted) => {
    expect([1, 8, 12, 16].map((n) => aepoInitialRollouts(n, root, [tool]))).toEqual(wanted);
  });

  test('branches less after consecutive rounds, and never after 20', () => {
    expect(aepoDecision(options, 0.5, 2, 0.5)).toBe(true);
    expect(aepoDecision(options, 0.5, 4, 0.5)).toBe(false);
    expect(aepoDecision(options, 9, 20, 0.99)).toBe(false);
  });

  test('decides, as a branch policy, by the consecutive rounds that it is given', () => {
    const { decide } = aepo(options);
    expect([2, 4].map((consecutive) => decide(0.5, 0.5, consecutive))).toEqual([true, false]);
  });

  test('splits the budget of each group, or takes N as set', () => {
    expect(aepo(options).initialRollouts).toBe(aepoInitialRollouts);
    expect(aepo({ ...options, dynamicBudget: false })).toMatchObject({
      initialRollouts: 2,
      beamSize: 2,
      entropyTokens: 20,
    });
  });
});

describe('the plan of a round', () => {
  const budget = { rollouts: 4, created: 2, beamSize: 2 };

  test('asks the survivors in order until the budget is spent', () => {
    const asked: number[] = [];
    const plan = planRound(budget, 3, (survivor) => {
      asked.push(survivor);
      return true;
    });
    expect(plan).toEqual({ clones: [0, 1], refill: false });
    expect(asked).toEqual([0, 1]);
  });

  test('asks each survivor beamSize - 1 times', () => {
    let asked = 0;
    planRound({ ...budget, beamSize: 3 }, 2, () => {
      asked++;
      return false;
    });
    expect(asked).toBe(4);
  });

  test('refills an idle group by one, until it is full', () => {
    expect(planRound(budget, 0, () => true)).toEqual({ clones: [], refill: true });
    expect(planRound({ ...budget, created: 4 }, 0, () => true).refill).toBe(false);
  });
});
