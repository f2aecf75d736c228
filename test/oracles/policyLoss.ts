/**
 * The clipped policy loss with dual clip, value and gradient (ET-Agent §8.8, ARPO reference §7.3), and AEPO's
 * entropy-balanced clipping (§2.3).
 *
 *     r = exp(logp - old)    M = max(-A·r, -A·clip(r, 1-ε_low, 1+ε_high))    L = A < 0 ? min(M, -A·c) : M
 *
 * The trainer computes the same inside its graph; this is the plain writing that it is checked against, and
 * what a trainer on another runtime can be checked against.
 */

import { type Mask, type Matrix, mapMatrix, maskedMean } from '../../model/credit/matrix.ts';
import type { Aggregation } from '../../model/losses/parts/tokenWeights.ts';
import { tokenWeights } from './aggregate.ts';

export interface PolicyLossInput {
  /** Log-probs under the policy that is trained (nats). */
  readonly logProbs: Matrix;
  /** Log-probs under the policy that sampled. */
  readonly oldLogProbs: Matrix;
  readonly advantages: Matrix;
  /** 1 = a token of the policy; tool results and padding are 0. */
  readonly mask: Mask;
  readonly clipLow: number;
  readonly clipHigh: number;
  /** Dual clip: a negative advantage costs at most this many times itself. */
  readonly clipC: number;
  readonly aggregation: Aggregation;
  /** AEPO: a token clipped from above keeps the gradient 1 + clipHigh instead of losing it. */
  readonly entropyBalanced?: boolean;
}

export interface PolicyLoss {
  readonly loss: number;
  /** d loss / d logProbs. */
  readonly gradient: number[][];
  /** Share of the masked tokens whose clipped term is the larger one. */
  readonly clipFraction: number;
  /** Share that the dual clip holds. */
  readonly clipFractionLower: number;
  /** Masked mean of old - new. */
  readonly klApprox: number;
}

/** One token: its loss, d loss / d logp, and which clip holds it (1 or 0). */
interface TokenLoss {
  readonly loss: number;
  readonly slope: number;
  readonly clipped: number;
  readonly clippedLower: number;
}

export function policyLoss(input: PolicyLossInput): PolicyLoss {
  const { logProbs, oldLogProbs, advantages, mask } = input;
  const tokens = logProbs.map((row, i) =>
    row.map((logProb, t) =>
      tokenLoss(Math.exp(logProb - oldLogProbs[i]![t]!), advantages[i]![t]!, input),
    ),
  );
  const weights = tokenWeights(mask, input.aggregation);
  const of = (key: keyof TokenLoss) => tokens.map((row) => row.map((token) => token[key]));
  let loss = 0;
  for (const [i, row] of weights.entries()) {
    for (const [t, weight] of row.entries()) loss += tokens[i]![t]!.loss * weight;
  }
  return {
    loss,
    gradient: mapMatrix(of('slope'), (slope, i, t) => slope * weights[i]![t]!),
    clipFraction: maskedMean(of('clipped'), mask),
    clipFractionLower: maskedMean(of('clippedLower'), mask),
    klApprox: maskedMean(
      mapMatrix(oldLogProbs, (old, i, t) => old - logProbs[i]![t]!),
      mask,
    ),
  };
}

function tokenLoss(ratio: number, advantage: number, input: PolicyLossInput): TokenLoss {
  const low = 1 - input.clipLow;
  const high = 1 + input.clipHigh;
  const plain = -advantage * ratio;
  const clipped = -advantage * Math.min(Math.max(ratio, low), high);
  const bound = -advantage * input.clipC;
  const isClipped = clipped > plain;
  const isBounded = advantage < 0 && bound < Math.max(plain, clipped);
  return {
    loss: isBounded ? bound : Math.max(plain, clipped),
    slope: isBounded ? 0 : -advantage * slopeFactor(ratio, isClipped, high, input),
    clipped: isClipped ? 1 : 0,
    clippedLower: isBounded ? 1 : 0,
  };
}

/** The part of the ratio that the gradient goes through: all of it, or none where the clip holds. */
function slopeFactor(
  ratio: number,
  isClipped: boolean,
  high: number,
  { entropyBalanced = false }: PolicyLossInput,
): number {
  if (!isClipped) return ratio;
  return entropyBalanced && ratio > high ? high : 0;
}
