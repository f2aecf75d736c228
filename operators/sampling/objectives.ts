/**
 * Objectives of Pareto sampling: what makes a question worth practising, as numbers of its scored group. More
 * is better.
 *
 * ET-Agent's two are how much the rollouts disagree in tool calls and in correctness (§7.1). You can write
 * another in one line:
 *
 *     const surprise: Objective = ({ rewards }) => Math.max(...rewards.map((reward) => reward.score));
 */
import type { Scored } from '../../topics/index.ts';
import { dispersion } from './dispersion.ts';

/** A number computed from a scored group; Pareto sampling prefers larger ones. */
export type Objective = (group: Scored) => number;

/** `variance` as released, `deviation` as in the paper: the same fronts, different crowding distances. */
export type Spread = 'variance' | 'deviation';

/** How much the numbers of tool calls differ. */
export function toolCallDispersion(spread: Spread = 'variance'): Objective {
  return ({ toolCalls }) => dispersion(toolCalls, spread);
}

/** How much the rollouts differ in being right (0 and 1, or F1). */
export function correctnessDispersion(spread: Spread = 'variance'): Objective {
  return (group) => dispersion(correctnessOf(group), spread);
}

/** How much the lengths differ, in tokens. */
export function lengthDispersion(spread: Spread = 'variance'): Objective {
  return ({ lengths }) => dispersion(lengths, spread);
}

/** How much the whole rewards differ; a group of equal rewards gives no advantage. */
export function rewardDispersion(spread: Spread = 'variance'): Objective {
  return ({ rewards }) =>
    dispersion(
      rewards.map((reward) => reward.score),
      spread,
    );
}

/** How right each rollout of a group is: the reward part `raw`. */
export function correctnessOf({ rewards }: Scored): number[] {
  return rewards.map((reward) => reward.parts.raw ?? 0);
}
