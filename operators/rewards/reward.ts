/**
 * A reward: what the rollouts of one question are worth, seen as a group.
 *
 * A reward is a function from a group to one `Reward` per rollout, in order. It gets the whole group because
 * efficiency is relative: a call is one too many only if others did without. Write one in a few lines with
 * `perRollout`, put several together with `weighted`:
 *
 *     const brief = perRollout('brief', ({ length }) => (length < 500 ? 1 : 0));
 *     const reward = weighted([
 *       { weight: 1, reward: accuracy() },
 *       { weight: 0.2, reward: brief },
 *     ]);
 *
 * In a training job every reward must leave the part `raw`, how right the response is: accuracy and Pareto
 * sampling read it. `accuracy()` leaves it, with weight 0 too.
 *
 * It may answer with a promise (a reward model on a server, a judge). The same group must give the same
 * rewards whenever it is asked, or a resumed run differs from one that never stopped: cache what draws at
 * random.
 */

import { MillraceError } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Question, Reward, Rollout } from '../../topics/index.ts';
import { type FormatFault, formatFault } from '../dialect/format.ts';
import { withEmptyResults } from '../dialect/results.ts';
import type { Variant } from '../text/variant.ts';
import { type CallForReward, callsIn } from './calls.ts';

/** The finished rollouts of one question. `texts[i]` and `lengths[i]` belong together. */
export interface GroupForReward {
  readonly question: Question;
  /** The tags of the job's tools, whether or not a response calls them; set by `score`. */
  readonly tools: readonly string[];
  /** The responses as text, including tool calls and results. What tools say in them is not the policy's. */
  readonly texts: readonly string[];
  /**
   * Where to read the policy's answers and form: `texts` with results emptied, unless the job asks for whole
   * texts; set by `score`. Left out = made from `texts` (`ownTexts`).
   */
  readonly own?: readonly string[];
  /**
   * What counts as a fault of form in the policy's dialect; left out = in the papers' tags. Set by `score`.
   */
  readonly formatFault?: FormOf;
  /** Response lengths in tokens, including tool results. */
  readonly lengths: readonly number[];
  /** How many of these tokens the policy wrote itself; set by `score`. */
  readonly policyLengths?: readonly number[];
  /** The recorded rollouts, for rewards that need more than texts; set by `score`. */
  readonly rollouts?: readonly Rollout[];
}

/** The first fault of a text's form; null = it is well-formed (`Dialect.formatFault`). */
export type FormOf = (text: string, variant: Variant) => FormatFault | null;

/** The first fault of a response's form, in the policy's dialect. */
export function faultOf(
  { tools, formatFault: own }: Pick<GroupForReward, 'tools' | 'formatFault'>,
  text: string,
): FormatFault | null {
  return own === undefined ? formatFault(text, 'reward', tools) : own(text, 'reward');
}

/** The policy's own part of each response. A reward that reads answers or tags reads them here. */
export function ownTexts({ texts, own }: GroupForReward): readonly string[] {
  return own ?? texts.map(withEmptyResults);
}

/** `signal` is aborted when the result is no longer wanted. */
export type RewardFunction = (
  group: GroupForReward,
  signal?: AbortSignal,
) => readonly Reward[] | Promise<readonly Reward[]>;

/** A reward that needs nothing from outside. */
export type PureReward = (group: GroupForReward) => readonly Reward[];

/** One rollout, as `perRollout` gets it. */
export interface RolloutForReward {
  readonly question: Question;
  /** The tags of the job's tools. */
  readonly tools: readonly string[];
  readonly text: string;
  /** The text with its results emptied: look for the answer here, where no tool can write one. */
  readonly own: string;
  /** Its finished tool calls, in order, with their results. */
  readonly calls: readonly CallForReward[];
  /** Response length in tokens, tool results included. */
  readonly length: number;
  /** How many of these the policy wrote itself; `length` if the group does not say. */
  readonly policyLength: number;
}

/** A reward that scores each rollout alone; its score is also the part `name`. */
export function perRollout(name: string, score: (rollout: RolloutForReward) => number): PureReward {
  return (group) => rolloutsOf(group).map((rollout) => named(name, score(rollout)));
}

/** The same for an asynchronous score; it is computed for one rollout of a group after another. */
export function perRolloutAsync(
  name: string,
  score: (rollout: RolloutForReward, signal?: AbortSignal) => Promise<number>,
): RewardFunction {
  return async (group, signal) => {
    const rewards: Reward[] = [];
    for (const rollout of rolloutsOf(group)) {
      rewards.push(named(name, await score(rollout, signal)));
    }
    return rewards;
  };
}

function rolloutsOf(group: GroupForReward): RolloutForReward[] {
  const { question, tools, texts, lengths, policyLengths = lengths } = group;
  const own = ownTexts(group);
  return texts.map((text, i) => {
    let calls: readonly CallForReward[] | undefined;
    return {
      ...{ question, tools, text, own: own[i]! },
      // Most rewards never read the calls, and finding them takes as long as reading an answer.
      get calls() {
        calls ??= callsIn(text, tools);
        return calls;
      },
      ...{ length: lengths[i]!, policyLength: policyLengths[i]! },
    };
  });
}

function named(name: string, value: number): Reward {
  return { score: value, parts: { [name]: value } };
}

/** One term of a weighted reward. */
export interface WeightedTerm {
  readonly weight: number;
  readonly reward: RewardFunction;
}

/**
 * The weighted sum of several rewards. It keeps the parts of all terms; if two terms have a part of the same
 * name, the later one counts. A weight that is not finite, or a term that leaves rollouts out, fails with
 * code `REWARD`.
 */
export function weighted(terms: readonly WeightedTerm[]): RewardFunction {
  for (const [i, { weight }] of terms.entries()) {
    if (!Number.isFinite(weight))
      throw badTerm(i, `has the weight ${weight}: give a finite number`);
  }
  return async (group, signal) => {
    const answered = await Promise.all(terms.map(({ reward }) => reward(group, signal)));
    for (const [i, given] of answered.entries()) {
      if (given?.length === group.texts.length) continue;
      const counts = `${given?.length ?? 'no'} rewards for the ${counted(group.texts.length, 'rollout')}`;
      throw badTerm(
        i,
        `gave ${counts} of question ${group.question.id}: return one each, in order`,
      );
    }
    const scored = terms.map(({ weight }, term) => ({ weight, rewards: answered[term]! }));
    return group.texts.map((_, i) => ({
      score: scored.reduce((sum, { weight, rewards }) => sum + weight * rewards[i]!.score, 0),
      parts: Object.assign(
        {},
        ...scored.map(({ rewards }) => rewards[i]!.parts),
      ) as Reward['parts'],
    }));
  };
}

function badTerm(index: number, what: string): MillraceError {
  return new MillraceError('REWARD', `term ${index + 1} of the weighted reward ${what}`);
}
