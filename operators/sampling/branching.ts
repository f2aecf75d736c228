/**
 * The branching policy of a group: what `growGroup` asks while it grows one. A policy holds no state and
 * draws nothing, so one value serves every question at once: ARPO (arpo.ts), AEPO (aepo.ts).
 */

/**
 * Roots of a group of `rollouts` (1 to `rollouts`), from a monitored rollout of its question: the step
 * entropy of the first tokens that answer the question, and those of all segments of the rollout, in order.
 */
export type SplitBudget = (
  rollouts: number,
  rootEntropy: number,
  segmentEntropies: readonly number[],
) => number;

/**
 * How a group of rollouts grows: from how many roots, and when a branch is cloned. Entropies are in the unit
 * of its `stepEntropy`.
 */
export interface Branching {
  /** Roots to start with (N ≤ n), or how to derive them from a monitored rollout. */
  readonly initialRollouts: number | SplitBudget;
  /** Clones tried per branch and round, plus one (Z). */
  readonly beamSize: number;
  /** Step entropy of a segment from the top log-probs of its first tokens. */
  readonly stepEntropy: (topLogProbs: readonly (readonly number[])[], vocabSize: number) => number;
  /** First tokens of a segment whose top log-probs are requested. */
  readonly entropyTokens: number;
  /** How many of each of these tokens (default 10). */
  readonly logProbsPerToken?: number;
  /**
   * Where a branch's uncertainty is measured. `call` (default, as released): in the segment that ended with
   * the call, so that a tool's answer shows one call later. `result` (the papers): in the first tokens after
   * the result, which are sampled once for that and then again to keep; a clone keeps its source's baseline.
   */
  readonly entropyAt?: 'call' | 'result';
  /**
   * Whose consecutive rounds `decide` gets. `group` (default, as released): rounds in which the group grew.
   * `path` (AEPO's paper): rounds in which this very branch was cloned.
   */
  readonly penaltyScope?: 'group' | 'path';
  /**
   * Whether one attempt makes a clone: the change of step entropy since the branch's first segment, the
   * group's next draw in [0, 1), and the number of rounds in a row, up to the last, in which the group (or
   * the branch) grew.
   */
  readonly decide: (entropyChange: number, uniform: number, consecutive: number) => boolean;
}

/**
 * Tool-Light's other way (growGuided): a main chain, then `perStep` branches at each of its `steps` least
 * sure steps; before them `free` rollouts, if the question is sampled both ways.
 */
export interface EntropyGuided {
  /** Independent rollouts of the group, before the main chain (default 0). */
  readonly free?: number;
  /** Steps of the main chain to branch at (the method has 3). */
  readonly steps: number;
  /** Branches at each of them (3). */
  readonly perStep: number;
}

/** Whether a strategy is Tool-Light's; null (independent rollouts) is not. */
export function isGuided(strategy: Branching | EntropyGuided | null): strategy is EntropyGuided {
  return strategy !== null && 'perStep' in strategy;
}
