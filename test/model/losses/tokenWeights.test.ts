import { describe, expect, test } from '@jest/globals';
import { type Aggregation, tokenWeights } from '../../../model/losses/parts/tokenWeights.ts';

/** A rollout of 3 rounds, one of one, and one of 2, in a row of sequences. */
const sequences = [
  { targets: 4, rollout: 0 },
  { targets: 2, rollout: 0 },
  { targets: 6, rollout: 0 },
  { targets: 5 },
  { targets: 0, rollout: 2 },
  { targets: 3, rollout: 2 },
];

const perRollout = (how: Aggregation): number[] => {
  const weights = tokenWeights(sequences, how, 10);
  const sum = (from: number, to: number): number =>
    sequences
      .slice(from, to)
      .reduce((all, { targets }, i) => all + targets * weights[from + i]!, 0);
  return [sum(0, 3), sum(3, 4), sum(4, 6)];
};

describe('the rounds of one rollout', () => {
  test('are weighted by the number of rollouts, not of rounds, if tokens are summed', () => {
    expect(tokenWeights(sequences, 'seq-mean-token-sum', 10)).toEqual(Array(6).fill(1 / 3));
    const wanted = [12 / 3, 5 / 3, 3 / 3];
    for (const [i, sum] of perRollout('seq-mean-token-sum').entries())
      expect(sum).toBeCloseTo(wanted[i]!, 12);
  });

  test('are weighted as one if each rollout counts alike', () => {
    for (const sum of perRollout('seq-mean-token-mean')) expect(sum).toBeCloseTo(1 / 3, 12);
  });

  test('change nothing if all tokens count alike', () => {
    const apart = sequences.map(({ targets }) => ({ targets }));
    expect(tokenWeights(sequences, 'token-mean', 10)).toEqual(
      tokenWeights(apart, 'token-mean', 10),
    );
  });

  test('give no weight to a rollout without targets, and count it', () => {
    const empty = [{ targets: 0, rollout: 0 }, { targets: 0, rollout: 0 }, { targets: 2 }];
    expect(tokenWeights(empty, 'seq-mean-token-mean', 10)).toEqual([0, 0, 1 / 4]);
    expect(tokenWeights(empty, 'seq-mean-token-sum', 10)).toEqual([1 / 2, 1 / 2, 1 / 2]);
  });
});
