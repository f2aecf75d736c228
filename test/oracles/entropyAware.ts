/**
 * AEPO's entropy-aware advantage (§2.4): tokens about which the policy is unsure weigh more.
 *
 *     A' = A · (1 + 0.2 · z),   z = (entropy - mean) / deviation over the masked tokens
 */
import { type Mask, type Matrix, mapMatrix } from '../../model/credit/matrix.ts';

export interface EntropyAwareOptions {
  /** How much one deviation of entropy changes an advantage. */
  readonly weight?: number;
  /**
   * `repaired` (default): a single masked token has no deviation and keeps its advantage.
   * `reference`: it becomes NaN, and so does the whole batch.
   */
  readonly mode?: 'repaired' | 'reference';
}

/** Advantages rescaled by the z-score of the token's entropy; a deviation of 0 counts as 1. */
export function entropyAwareAdvantages(
  advantages: Matrix,
  entropies: Matrix,
  mask: Mask,
  { weight = 0.2, mode = 'repaired' }: EntropyAwareOptions = {},
): number[][] {
  const selected = entropies.flatMap((row, i) => row.filter((_, t) => mask[i]![t] === 1));
  const count = selected.length;
  if (count === 0 || (count === 1 && mode === 'repaired')) return advantages.map((row) => [...row]);
  const mean = selected.reduce((sum, entropy) => sum + entropy, 0) / count;
  const squares = selected.reduce((sum, entropy) => sum + (entropy - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / (count - 1));
  const scale = deviation === 0 ? 1 : deviation;
  return mapMatrix(advantages, (advantage, i, t) => {
    const z = (entropies[i]![t]! - mean) / scale;
    return advantage * (1 + weight * z);
  });
}
