import { describe, expect, test } from '@jest/globals';
import {
  type LagCorrection,
  lagCorrected,
  lagWeight,
} from '../../../model/credit/lagCorrection.ts';
import type { TrainSequence } from '../../../model/engine.ts';
import { policyLoss } from '../../oracles/policyLoss.ts';

const PROXIMAL = [0.5, 0.2, 0.9, 0.05, 0.3];
const BEHAVIOUR = [0.5, 0.4, 0.3, 0.01, 0.1];
const CURRENT = [0.55, 0.1, 0.95, 0.06, 0.3];
const ADVANTAGES = [1, -1, 1, 1, -2];

const corrections: readonly LagCorrection[] = [
  { kind: 'decoupled' },
  { kind: 'decoupled', cap: 3.5 },
  { kind: 'truncated', cap: 3.5 },
  { kind: 'truncated', cap: 1 },
];

/** A second, slower writing: with probabilities, one case after the other. */
function slowWeight(place: number, { kind, cap }: LagCorrection): number {
  const weight = PROXIMAL[place]! / BEHAVIOUR[place]!;
  if (cap === undefined) return weight;
  if (kind === 'truncated') return Math.min(weight, cap);
  return weight <= cap ? weight : 0;
}

/** The corrected loss of one token with A, as it is published: no clipping helpers, no aggregation. */
function slowLoss(place: number, correction: LagCorrection): number {
  const ratio = CURRENT[place]! / PROXIMAL[place]!;
  let bounded = ratio;
  if (ratio < 0.8) bounded = 0.8;
  if (ratio > 1.2) bounded = 1.2;
  const advantage = ADVANTAGES[place]!;
  const worse = -Math.min(advantage * ratio, advantage * bounded);
  const held = advantage < 0 && worse > -3 * advantage ? -3 * advantage : worse;
  return slowWeight(place, correction) * held;
}

function sequence(): TrainSequence {
  const length = PROXIMAL.length;
  return {
    tokens: new Int32Array(length),
    mask: new Uint8Array(length).fill(1),
    advantages: Float32Array.from(ADVANTAGES),
    oldLogProbs: Float32Array.from(BEHAVIOUR, Math.log),
  };
}

describe.each(corrections)('the lag correction %j', (correction) => {
  test('weights a token by the ratio of proximal to behaviour policy', () => {
    for (const [place, proximal] of PROXIMAL.entries()) {
      const weight = lagWeight(Math.log(proximal), Math.log(BEHAVIOUR[place]!), correction);
      expect(weight).toBeCloseTo(slowWeight(place, correction), 12);
    }
  });

  test('gives the loss of the published form', () => {
    const proximal = Float32Array.from(PROXIMAL, Math.log);
    const { oldLogProbs, importance } = lagCorrected(sequence(), proximal, correction);
    expect(oldLogProbs).toEqual(proximal);
    for (const place of PROXIMAL.keys()) {
      const { loss } = policyLoss({
        logProbs: [[Math.log(CURRENT[place]!)]],
        oldLogProbs: [[oldLogProbs[place]!]],
        advantages: [[ADVANTAGES[place]!]],
        mask: [[1]],
        clipLow: 0.2,
        clipHigh: 0.2,
        clipC: 3,
        aggregation: 'seq-mean-token-sum',
      });
      expect(loss * importance![place]!).toBeCloseTo(slowLoss(place, correction), 5);
    }
  });
});

test('the lag correction leaves data without lag unchanged', () => {
  const { oldLogProbs, ...rest } = sequence();
  const corrected = lagCorrected({ ...rest, oldLogProbs }, oldLogProbs, {
    kind: 'decoupled',
    cap: 1,
  });
  expect([...corrected.importance!]).toEqual([1, 1, 1, 1, 1]);
  expect(corrected.tokens).toBe(rest.tokens);
});

test('the lag correction gives masked tokens no weight, whatever their log-probs', () => {
  const masked = sequence();
  masked.mask[1] = 0;
  masked.oldLogProbs[1] = Number.NaN;
  const { importance } = lagCorrected(masked, new Float32Array(5), { kind: 'truncated', cap: 2 });
  expect(importance![1]).toBe(0);
});

test('the lag correction does not take a NaN log-prob for an outlier', () => {
  expect(lagWeight(Number.NaN, -1, { kind: 'decoupled', cap: 2 })).toBeNaN();
  expect(lagWeight(Number.NaN, -1, { kind: 'truncated', cap: 2 })).toBeNaN();
});

test('the lag correction refuses differing lengths and a cap below 1', () => {
  const short = new Float32Array(4);
  expect(() => lagCorrected(sequence(), short, { kind: 'decoupled' })).toThrow(
    '4 proximal log-probs for 5 tokens',
  );
  const low: LagCorrection = { kind: 'truncated', cap: 0.5 };
  expect(() => lagCorrected(sequence(), new Float32Array(5), low)).toThrow('cap is 0.5');
});
