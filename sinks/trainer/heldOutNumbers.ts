/** A policy's measurements on sequences that it does not train on. */
import type { Scorer, TrainSequence } from '../../model/index.ts';

/** Means over the target tokens, in nats per token. */
export interface HeldOutNumbers {
  /** Cross-entropy. */
  readonly loss: number;
  /** Exact entropy of the policy; null if the scorer does not give it. */
  readonly entropy: number | null;
  readonly tokens: number;
}

/** Sequences scored at once: bounds what a scorer holds. */
const SCORED_AT_ONCE = 16;

export async function heldOutNumbers(
  scorer: Scorer,
  sequences: readonly TrainSequence[],
): Promise<HeldOutNumbers> {
  let [surprise, entropy, tokens] = [0, 0, 0];
  let exact = true;
  for (let from = 0; from < sequences.length; from += SCORED_AT_ONCE) {
    const some = sequences.slice(from, from + SCORED_AT_ONCE);
    const scores = await scorer.score(some.map((one) => one.tokens));
    for (const [i, { mask }] of some.entries()) {
      const { logProbs, entropies } = scores[i]!;
      exact &&= entropies !== undefined;
      for (let place = 1; place < mask.length; place++) {
        if (mask[place] !== 1) continue;
        surprise -= logProbs[place]!;
        entropy += entropies?.[place] ?? 0;
        tokens++;
      }
    }
  }
  return { loss: surprise / tokens, entropy: exact ? entropy / tokens : null, tokens };
}
