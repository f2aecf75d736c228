/**
 * What a response shows of the policy's behaviour (ET-Agent §10): how its tool calls went, and how much it
 * wrote itself.
 *
 * As a reward it scores 0 and leaves parts: `resultBlocks`, `failedResults`, `thinkingLength`. Added with
 * weight 0 to any reward, it makes `measure` and the report show successful execution and reasoning length.
 */

import { countFailedResults, resultBlocks } from '../dialect/results.ts';
import type { GroupForReward, PureReward } from '../rewards/reward.ts';

/** How the tool calls of one response went, and how much the policy wrote. */
export interface Execution {
  /** Closed result blocks, and those of them that show a failed call. */
  readonly resultBlocks: number;
  readonly failedResults: number;
  /** Tokens that the policy wrote itself. */
  readonly thinkingLength: number;
}

/**
 * Of each response of a group. The tokens are those that the policy sampled, if the group says how many
 * (the reference tokenises the text without results again); else all of them.
 */
export function executions({
  texts,
  lengths,
  policyLengths = lengths,
}: GroupForReward): Execution[] {
  return texts.map((text, i) => ({
    resultBlocks: resultBlocks(text).length,
    failedResults: countFailedResults(text),
    thinkingLength: policyLengths[i]!,
  }));
}

/** Successful execution of one response: its correctness divided by its failed calls, if any. */
export function perFailure(correct: number, { failedResults }: Execution): number {
  return correct / Math.max(failedResults, 1);
}

/**
 * Reasoning length of one response: its correctness per token that the policy wrote. The paper prints 1000
 * times it.
 */
export function perToken(correct: number, { thinkingLength }: Execution): number {
  return correct / Math.max(thinkingLength, 1);
}

/** The reward of weight 0: see above. */
export function execution(): PureReward {
  return (group) => executions(group).map((found) => ({ score: 0, parts: { ...found } }));
}
