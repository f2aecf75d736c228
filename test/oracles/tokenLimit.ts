/**
 * The reference's micro-batches: balanced, of at most so many tokens without padding, with the way back to
 * the order of the batch (ARPO reference §7.6). The trainer's own (microBatches.ts) count padding as well.
 */
import { balance } from '../../model/train/balance.ts';

export interface MicroBatches {
  /** Places of each micro-batch's sequences in the batch. */
  readonly partitions: readonly (readonly number[])[];
  /** Where each sequence is when the partitions are laid end to end. */
  readonly inverse: readonly number[];
}

/**
 * As many micro-batches as the total asks for. Balance is a heuristic, so one may exceed `tokensMax` a
 * little; a single sequence longer than it is an error.
 */
export function tokenLimited(lengths: readonly number[], tokensMax: number): MicroBatches {
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  if (longest > tokensMax) {
    throw new Error(`a sequence of ${longest} tokens exceeds the limit of ${tokensMax}: raise it`);
  }
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const count = Math.min(lengths.length, Math.ceil(total / tokensMax));
  const partitions = balance(lengths, count);
  const inverse = new Array<number>(lengths.length).fill(0);
  for (const [place, original] of partitions.flat().entries()) inverse[original] = place;
  return { partitions, inverse };
}
