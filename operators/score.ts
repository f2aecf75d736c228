/**
 * `score`: a complete group of rollouts in, its rewards and advantages out.
 *
 * Rewards are group-relative (the efficiency reward compares tool calls and lengths within the group), so the
 * unit is the group; `completeGroups` gathers it. References to the rollouts are included, so that the
 * trainer finds the tokens without a copy in the topic. A reward that throws, rejects, gives a number that is
 * not finite or lacks a part that is needed ends the stage: without its group a round would never be
 * complete, and a run that is resumed with a better reward scores the group again.
 *
 * A failed rollout is not the policy's fault (a tool or a server was gone): it has a reward, for the record,
 * and the advantages of the others are as if it were not there.
 *
 * A reward may take a while; several groups are then rewarded at once, and their records still come in the
 * order in which the groups were complete.
 */
import { defer, type OperatorFunction } from 'rxjs';
import { MillraceError } from '../base/index.ts';
import type { GroupAdvantage } from '../model/credit/index.ts';
import type { Delivery } from '../streams/deliveries/index.ts';
import { gatherBy, mapEach, type Scope } from '../streams/index.ts';
import { asked, type Reward, type Rollout, type Scored } from '../topics/index.ts';
import type { CallTool } from './callTools.ts';
import { withEmptyResults } from './dialect/results.ts';
import { inCallOrder } from './inCallOrder.ts';
import {
  ACTION,
  checkAdvantages,
  checkPart,
  checkRewards,
  rewardThrew,
} from './rewards/checkRewards.ts';
import {
  type FormOf,
  faultOf,
  type GroupForReward,
  type RewardFunction,
} from './rewards/reward.ts';
import { type WithPosition, withPosition } from './withPosition.ts';

/** Where to look for a response's answer: in what the policy wrote, or in all of it. */
export type AnswersIn = 'own' | 'whole';

/** The reward and the advantage, and how many groups are worked on at once. */
export interface ScoreOptions {
  /** The job's tools: rewards see their tags. */
  readonly tools: Pick<CallTool, 'tags'>;
  readonly reward: RewardFunction;
  /**
   * Where rewards look for answers and form: `own` (default) = in what the policy wrote, `whole` = also in
   * results, like the references. A tool that says `\boxed{42}` then answers for the policy: only for tools
   * whose every word is trusted.
   */
  readonly answers?: AnswersIn;
  /** Finds faults of form in the policy's dialect (`Dialect.formatFault`); left out = in the papers' tags. */
  readonly formatFault?: FormOf | undefined;
  /**
   * Turns the scores of a group, and the number of tokens that the policy wrote in each, into its advantages;
   * for example `grpo()`.
   */
  readonly advantage: GroupAdvantage;
  /**
   * The same for the reward's part `action`, for the tokens of actions only (`toolPo()`); left out = there is
   * none.
   */
  readonly actionAdvantage?: GroupAdvantage | undefined;
  /**
   * Parts that every reward must have, because a later stage reads them (default: none); otherwise code
   * `REWARD_PART`.
   */
  readonly partsNeeded?: readonly string[];
  /** Limit of incomplete groups. */
  readonly openMax: number;
  /**
   * How many groups' rewards may be pending at once; 1 (default) suffices for a reward that needs nothing
   * from outside.
   */
  readonly concurrency?: number;
}

async function scoreGroup(
  members: readonly WithPosition<Rollout>[],
  options: ScoreOptions,
  signal: AbortSignal,
): Promise<Scored> {
  const ordered = [...members].sort((a, b) => a.value.index - b.value.index);
  const rollouts = ordered.map((member) => member.value);
  const question = rollouts[0]!.question;
  const lengths = rollouts.map((rollout) => rollout.tokens.length);
  const policyLengths = rollouts.map(policyTokens);
  const texts = rollouts.map((rollout) => rollout.text);
  const own = options.answers === 'whole' ? texts : texts.map(withEmptyResults);
  const tools = options.tools.tags;
  const { formatFault } = options;
  const group = {
    question,
    tools,
    texts,
    own,
    lengths,
    policyLengths,
    rollouts,
    ...(formatFault === undefined ? {} : { formatFault }),
  };
  const given = await rewardsOf(group, rollouts, options.reward, signal);
  const rewards = given.map((reward, i) => withFormat(reward, group, own[i] ?? ''));
  const { partsNeeded = [], advantage, actionAdvantage } = options;
  for (const part of partsNeeded) checkPart(part, given, question);
  if (actionAdvantage !== undefined) checkPart(ACTION, given, question);
  const relative = (values: readonly number[], by: GroupAdvantage): number[] =>
    advantages(rollouts, values, policyLengths, by);
  const scores = rewards.map((reward) => reward.score);
  const actions = rewards.map(({ parts }) => parts[ACTION] ?? 0);
  return {
    question,
    rewards,
    toolCalls: rollouts.map((rollout) => rollout.toolCalls),
    lengths,
    advantages: relative(scores, advantage),
    actionAdvantages: actionAdvantage === undefined ? [] : relative(actions, actionAdvantage),
    rollouts: ordered.map((member) => member.position),
    version: Math.min(...rollouts.map((rollout) => rollout.version)),
  };
}

/** The reward's output, once it is checked. */
async function rewardsOf(
  group: GroupForReward,
  rollouts: readonly Rollout[],
  reward: RewardFunction,
  signal: AbortSignal,
): Promise<readonly Reward[]> {
  let given: readonly Reward[];
  try {
    given = await reward(group, signal);
  } catch (error) {
    // A stop is not the reward's fault, and our own errors say what to do.
    if (signal.aborted || error instanceof MillraceError) throw error;
    throw rewardThrew(error, rollouts[0]!);
  }
  checkRewards(given, rollouts);
  return given;
}

/** 0 for failed rollouts, and for the only one left of several, which has nothing to be compared with. */
function advantages(
  rollouts: readonly Rollout[],
  scores: readonly number[],
  lengths: readonly number[],
  advantage: GroupAdvantage,
): number[] {
  const all = scores.map(() => 0);
  const done = [...rollouts.keys()].filter((i) => rollouts[i]!.status === 'done');
  if (done.length < Math.min(2, rollouts.length)) return all;
  const of = <T>(values: readonly T[]): T[] => done.map((i) => values[i]!);
  const made = advantage(of(scores), of(lengths));
  checkAdvantages(made, of(rollouts));
  for (const [place, value] of made.entries()) all[done[place]!] = value;
  return all;
}

/** The format is measured for every response, even if the reward does not count it. */
function withFormat(reward: Reward, group: GroupForReward, own: string): Reward {
  if (reward.parts.format !== undefined) return reward;
  const format = faultOf(group, own) === null ? 0 : -1;
  return { ...reward, parts: { ...reward.parts, format } };
}

function policyTokens({ segments }: Rollout): number {
  return segments.reduce(
    (sum, { kind, start, end }) => sum + (kind === 'policy' ? end - start : 0),
    0,
  );
}

/** rollouts → scored, one record per group. */
export function score(
  options: ScoreOptions,
): OperatorFunction<Delivery<Rollout>, Delivery<Scored>> {
  const { concurrency = 1 } = options;
  return (source) =>
    defer(() =>
      source.pipe(
        withPosition<Rollout>(),
        gatherBy({
          key: ({ value }) => asked(value.question),
          size: ({ value }) => value.groupSize,
          openMax: options.openMax,
        }),
        mapEach(
          inCallOrder((members, { signal }: Scope) => scoreGroup(members, options, signal)),
          { concurrency, onError: 'fail' },
        ),
      ),
    );
}
