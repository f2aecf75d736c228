/** Steps to make on a training service and in the embedded trainer, for comparing the two. */
import { draws } from '../../base/draws.ts';
import type { Loss, TrainSequence } from '../../model/engine.ts';

export interface Scored {
  readonly logProbs: Float32Array;
}

export const adam = { beta1: 0.9, beta2: 0.95, eps: 1e-12, weightDecay: 0.01 };

/** Lengths in one class of what a service compiles for. */
const LENGTHS = [24, 17, 30, 12];

/**
 * Tokens drawn for each length, and what every loss needs besides them, near the log-probs that the policy
 * has.
 */
export const drawn = (vocabSize: number): Int32Array[] =>
  LENGTHS.map((length, row) =>
    Int32Array.from({ length }, (_, i) => draws('skyrl', row).integer(i, vocabSize)),
  );

export function batchOf(tokens: readonly Int32Array[], before: readonly Scored[]): TrainSequence[] {
  return tokens.map((each, row) => {
    const moved = (far: number, key: string) =>
      before[row]!.logProbs.map((v, i) => v + far * (draws(key, row).uniform(i) - 0.5));
    return {
      tokens: each,
      mask: Uint8Array.from(each, (_, i) => (i > 4 && i % 5 > 0 ? 1 : 0)),
      advantages: Float32Array.from(each, (_, i) => 2 * draws('adv', row).uniform(i) - 1),
      oldLogProbs: moved(1.2, 'old'),
      refLogProbs: moved(1, 'ref'),
    };
  });
}

export const losses: Readonly<Record<string, Loss>> = {
  sft: { name: 'sft' },
  'clipped policy loss': { name: 'clipped', settings: { clipHigh: 0.28, clipC: 1e6 } },
  'dual-clipped policy loss': { name: 'clipped', settings: { clipC: 1.5 } },
  'policy loss with a KL': { name: 'clipped', settings: { kl: { coefficient: 0.1 } } },
  gspo: { name: 'gspo', settings: { clipLow: 0.2, clipHigh: 0.3 } },
  dpo: { name: 'dpo', settings: { beta: 0.5 } },
};

/** The largest distance between log-probs of the same sequences. */
export function apart(one: readonly Scored[], other: readonly Scored[]): number {
  return Math.max(
    ...one.flatMap(({ logProbs }, row) =>
      [...logProbs].map((value, i) => Math.abs(value - other[row]!.logProbs[i]!)),
    ),
  );
}
