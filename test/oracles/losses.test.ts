import { describe, expect, test } from '@jest/globals';
import type { Aggregation } from '../../model/losses/parts/tokenWeights.ts';
import { dpoLoss, labelledLogProb } from './dpo.ts';
import { entropyAwareAdvantages } from './entropyAware.ts';
import { klEstimate } from './kl.ts';
import { type PolicyLossInput, policyLoss } from './policyLoss.ts';

const RATIOS = [0.5, 0.9, 1, 1.5, 0.5, 1.5, 4, 1.1];
const ANCHOR: PolicyLossInput = {
  logProbs: [RATIOS.map(Math.log)],
  oldLogProbs: [RATIOS.map(() => 0)],
  advantages: [[1, 1, 1, 1, -1, -1, -1, -1]],
  mask: [RATIOS.map(() => 1)],
  clipLow: 0.2,
  clipHigh: 0.2,
  clipC: 3,
  aggregation: 'seq-mean-token-sum',
};

function expectNear(values: readonly number[], wanted: readonly number[]): void {
  values.forEach((value, i) => {
    expect(value).toBeCloseTo(wanted[i]!, 10);
  });
}

describe('the policy loss of the oracle', () => {
  test('gives the published value, gradient and metrics', () => {
    const { loss, gradient, clipFraction, clipFractionLower, klApprox } = policyLoss(ANCHOR);
    expect(loss).toBeCloseTo(2.8, 12);
    expectNear(gradient[0]!, [-0.5, -0.9, -1, 0, 0, 1.5, 0, 1.1]);
    expect(clipFraction).toBeCloseTo(0.25, 8);
    expect(clipFractionLower).toBeCloseTo(0.125, 8);
    expect(klApprox).toBeCloseTo(-0.10010998, 7);
  });

  test('keeps the gradient of a token clipped from above when clipping is entropy-balanced', () => {
    const balanced = policyLoss({ ...ANCHOR, entropyBalanced: true });
    expect(balanced.loss).toBeCloseTo(2.8, 12);
    expectNear(balanced.gradient[0]!, [-0.5, -0.9, -1, -1.2, 0, 1.5, 0, 1.1]);
  });

  test.each<Aggregation>([
    'token-mean',
    'seq-mean-token-mean',
    'seq-mean-token-sum',
    'seq-mean-token-sum-norm',
  ])('has the slope of its value as gradient (%s)', (aggregation) => {
    const input: PolicyLossInput = {
      ...ANCHOR,
      logProbs: [
        [-0.3, -1.1, -0.2],
        [-2.2, -0.7, -0.1],
      ],
      oldLogProbs: [
        [-0.4, -1, -1.9],
        [-0.6, -0.75, -0.1],
      ],
      advantages: [
        [0.7, 0.7, 0.7],
        [-0.4, -0.4, -0.4],
      ],
      mask: [
        [1, 1, 1],
        [1, 0, 1],
      ],
      aggregation,
    };
    const { gradient } = policyLoss(input);
    const step = 1e-6;
    input.logProbs.forEach((row, i) => {
      row.forEach((_, t) => {
        const shifted = (by: number) =>
          policyLoss({
            ...input,
            logProbs: input.logProbs.map((r, a) =>
              r.map((x, b) => (a === i && b === t ? x + by : x)),
            ),
          }).loss;
        expect(gradient[i]![t]).toBeCloseTo((shifted(step) - shifted(-step)) / (2 * step), 6);
      });
    });
  });
});

describe('entropy-aware advantages', () => {
  test('have the published values', () => {
    const advantages = entropyAwareAdvantages(
      ANCHOR.advantages,
      [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]],
      ANCHOR.mask,
    );
    expect(policyLoss({ ...ANCHOR, advantages }).loss).toBeCloseTo(4.4411581277, 9);
  });

  test('leave a single token as it is, for which the reference gives NaN', () => {
    expect(entropyAwareAdvantages([[2, 3]], [[1, 9]], [[1, 0]])).toEqual([[2, 3]]);
    const [row] = entropyAwareAdvantages([[2, 3]], [[1, 9]], [[1, 0]], { mode: 'reference' });
    expect(row).toEqual([Number.NaN, Number.NaN]);
  });
});

test.each([
  ['k1', [0.5, -1, 8.5]],
  ['k2', [0.125, 0.5, 36.125]],
  ['k3', [0.10653066, 0.71828183, 7.50020347]],
] as const)('%s gives the published value', (kind, wanted) => {
  const logProbs = [-1, -2, -0.5];
  const refLogProbs = [-1.5, -1, -9];
  logProbs.forEach((logProb, i) => {
    expect(klEstimate(kind, logProb, refLogProbs[i]!)).toBeCloseTo(wanted[i]!, 7);
  });
});

describe('the DPO loss of the oracle', () => {
  test('is log 2 without a margin, and falls as the margin grows', () => {
    const pairs = {
      policyChosen: [-5],
      policyRejected: [-7],
      refChosen: [-5],
      refRejected: [-7],
      beta: 0.1,
    };
    expect(dpoLoss(pairs).loss).toBeCloseTo(Math.LN2, 12);
    expect(dpoLoss({ ...pairs, policyChosen: [-1] }).loss).toBeLessThan(Math.LN2);
  });

  test('stays finite for a huge margin', () => {
    const pairs = {
      policyChosen: [0],
      policyRejected: [9000],
      refChosen: [0],
      refRejected: [0],
      beta: 1,
    };
    expect(dpoLoss(pairs).loss).toBe(9000);
  });
});

test('labelled log-probs skip ignored labels and shift by one', () => {
  const { logProb, count } = labelledLogProb(
    [
      [0, 0],
      [5, 5],
      [9, 9],
    ],
    [1, -100, 0],
  );
  expect(count).toBe(1);
  expect(logProb).toBeCloseTo(-Math.LN2, 12);
});
