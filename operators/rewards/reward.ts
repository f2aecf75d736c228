/**
 * A reward: what the rollouts of one question are worth, seen as a group.
 *
 * A reward is a pure function from a group to one `Reward` a rollout, in order. The group is given whole
 * because efficiency is relative: a call is one too many only where others did without. Write one in a few
 * lines with `perRollout`, put several together with `weighted`:
 *
 *     const brief = perRollout('brief', ({ length }) => (length < 500 ? 1 : 0));
 *     const reward = weighted([
 *       { weight: 1, reward: accuracy() },
 *       { weight: 0.2, reward: brief },
 *     ]);
 */
import type { Question, Reward } from '../../streams/records.ts';

/** The finished rollouts of one question. `texts[i]` and `lengths[i]` belong together. */
export interface GroupForReward {
  readonly question: Question;
  /** The responses as text, tool calls and results included. */
  readonly texts: readonly string[];
  /** Response lengths in tokens. */
  readonly lengths: readonly number[];
}

export type RewardFunction = (group: GroupForReward) => readonly Reward[];

/** One rollout, as `perRollout` hands it over. */
export interface RolloutForReward {
  readonly question: Question;
  readonly text: string;
  readonly length: number;
}

/** A reward that looks at each rollout by itself; its score is also the part `name`. */
export function perRollout(
  name: string,
  score: (rollout: RolloutForReward) => number,
): RewardFunction {
  return ({ question, texts, lengths }) =>
    texts.map((text, i) => {
      const value = score({ question, text, length: lengths[i]! });
      return { score: value, parts: { [name]: value } };
    });
}

/** One term of a weighted reward. */
export interface WeightedTerm {
  readonly weight: number;
  readonly reward: RewardFunction;
}

/**
 * The weighted sum of several rewards. It keeps the parts of all terms; a part that two terms name alike
 * is that of the later one.
 */
export function weighted(terms: readonly WeightedTerm[]): RewardFunction {
  return (group) => {
    const scored = terms.map(({ weight, reward }) => ({ weight, rewards: reward(group) }));
    return group.texts.map((_, i) => ({
      score: scored.reduce((sum, { weight, rewards }) => sum + weight * rewards[i]!.score, 0),
      parts: Object.assign(
        {},
        ...scored.map(({ rewards }) => rewards[i]!.parts),
      ) as Reward['parts'],
    }));
  };
}
