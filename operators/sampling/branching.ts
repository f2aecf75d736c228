/**
 * The branching policy of a group: what `growGroup` asks while it grows one. A policy holds no state and draws
 * nothing, so one value serves every question at once: ARPO (arpo.ts), AEPO (aepo.ts).
 */

/**
 * Roots of a group of `rollouts` (1 to `rollouts`), from a monitored rollout of its question: the step entropy of
 * the first tokens that answer the question, and those of all segments of the rollout, in order.
 */
export type SplitBudget = (
  rollouts: number,
  rootEntropy: number,
  segmentEntropies: readonly number[],
) => number;

export interface Branching {
  /** Roots to start with (N ≤ n), or how they follow from a monitored rollout. */
  readonly initialRollouts: number | SplitBudget;
  /** Clones tried per branch and round, plus one (Z). */
  readonly beamSize: number;
  /** Step entropy of a segment from the top log-probs of its first tokens. */
  readonly stepEntropy: (topLogProbs: readonly (readonly number[])[], vocabSize: number) => number;
  /** First tokens of a segment whose top log-probs are asked for. */
  readonly entropyTokens: number;
  /**
   * Whether one attempt makes a clone: the change of step entropy since the branch's first segment, the group's next
   * draw in [0, 1), and the number of rounds in a row, up to the last, in which the group grew.
   */
  readonly decide: (entropyChange: number, uniform: number, consecutive: number) => boolean;
}
