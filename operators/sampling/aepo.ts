/**
 * AEPO's budget and branching (AEPO reference §2.1, §2.2).
 *
 * The budget of a group is split by comparing the entropy of the question with that of the tool steps of one
 * monitored rollout; and a question that branched in several rounds in a row branches less.
 */
import type { ArpoOptions } from './arpo.ts';
import type { Branching } from './branching.ts';
import { ENTROPY_TOKENS, stepEntropy } from './stepEntropy.ts';

/** How strongly the difference of entropies affects the split. */
const SPLIT_SLOPE = 0.5;
/** Share by which each consecutive round of branching lowers the chance of the next. */
const CONSECUTIVE_PENALTY = 0.05;

/**
 * Number of unbranched roots out of `rollouts` (1 to `rollouts`). `toolEntropies` are those of all segments
 * of the monitored rollout; if there are none, the question's own entropy is used.
 */
export function aepoInitialRollouts(
  rollouts: number,
  rootEntropy: number,
  toolEntropies: readonly number[],
): number {
  const toolEntropy =
    toolEntropies.length === 0
      ? rootEntropy
      : toolEntropies.reduce((sum, entropy) => sum + entropy, 0) / toolEntropies.length;
  const share = 1 / (1 + Math.exp(-SPLIT_SLOPE * (rootEntropy - toolEntropy)));
  return Math.min(rollouts, Math.max(1, Math.floor(rollouts * share) + 1));
}

/** AEPO's settings: ARPO's, the budget of roots, and the penalty for branching in a row. */
export interface AepoOptions extends ArpoOptions {
  /** Roots by a monitored rollout of the question (default), or `initialRollouts` as ARPO. */
  readonly dynamicBudget?: boolean;
  /** See `Branching`; as released if left out. */
  readonly penaltyScope?: Branching['penaltyScope'];
}

/**
 * Whether one attempt makes a clone. `consecutive` = rounds in a row in which the question's group grew; from
 * 20 on nothing branches. The test is mirrored against ARPO's: for a threshold b other than 0.5 the two
 * differ.
 */
export function aepoDecision(
  { branchProbability, entropyWeight }: Pick<AepoOptions, 'branchProbability' | 'entropyWeight'>,
  entropyChange: number,
  consecutive: number,
  uniform: number,
): boolean {
  const penalty = Math.max(0, 1 - CONSECUTIVE_PENALTY * consecutive);
  const value = Math.min(1, Math.max(0, (uniform + entropyWeight * entropyChange) * penalty));
  return value >= branchProbability;
}

/** The branching policy that `rollout` takes. `initialRollouts` only counts with a fixed budget. */
export function aepo(options: AepoOptions): Branching {
  const { initialRollouts, beamSize, dynamicBudget = true } = options;
  return {
    initialRollouts: dynamicBudget ? aepoInitialRollouts : initialRollouts,
    beamSize,
    entropyTokens: ENTROPY_TOKENS,
    stepEntropy,
    entropyAt: options.entropyAt ?? 'call',
    penaltyScope: options.penaltyScope ?? 'group',
    decide: (entropyChange, uniform, consecutive) =>
      aepoDecision(options, entropyChange, consecutive, uniform),
  };
}
