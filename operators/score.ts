/**
 * `score`: a complete group of rollouts in, its rewards and advantages out.
 *
 * Rewards are group-relative (the efficiency reward compares tool calls and lengths within the group), so the
 * unit is the group; `completeGroups` gathers it. References to the rollouts ride along, so that the trainer
 * finds the tokens without carrying them through the topic. A reward that throws ends the stage: without its group a
 * round would never be complete, and once the reward is mended a resumed run scores the group again.
 */
import { type OperatorFunction, pipe } from 'rxjs';
import type { Delivery } from '../streams/delivery.ts';
import { gatherBy, mapEach } from '../streams/primitives.ts';
import type { Reward, Rollout, Scored } from '../streams/records.ts';
import { type Located, located } from './located.ts';
import type { RewardFunction } from './rewards/reward.ts';

export interface ScoreOptions {
  readonly reward: RewardFunction;
  /** Scores of a group to its advantages, e.g. `grpo()`. */
  readonly advantage: (scores: readonly number[]) => readonly number[];
  /** Groups that may be incomplete at once. */
  readonly openMax: number;
}

function groupKey({ question }: Rollout): string {
  return `${question.id}/${question.phase}-${question.stage}`;
}

function scoreGroup(members: readonly Located<Rollout>[], options: ScoreOptions): Scored {
  const ordered = [...members].sort((a, b) => a.value.index - b.value.index);
  const rollouts = ordered.map((member) => member.value);
  const question = rollouts[0]!.question;
  const lengths = rollouts.map((rollout) => rollout.tokens.length);
  const texts = rollouts.map((rollout) => rollout.text);
  const rewards: readonly Reward[] = options.reward({ question, texts, lengths });
  return {
    question,
    rewards,
    toolCalls: rollouts.map((rollout) => rollout.toolCalls),
    lengths,
    advantages: options.advantage(rewards.map((reward) => reward.score)),
    rollouts: ordered.map((member) => member.position),
    version: Math.min(...rollouts.map((rollout) => rollout.version)),
  };
}

/** rollouts → scored, one record a group. */
export function score(
  options: ScoreOptions,
): OperatorFunction<Delivery<Rollout>, Delivery<Scored>> {
  return pipe(
    located<Rollout>(),
    gatherBy({
      key: ({ value }) => groupKey(value),
      size: ({ value }) => value.groupSize,
      openMax: options.openMax,
    }),
    mapEach((members) => scoreGroup(members, options), { concurrency: 1, onError: 'fail' }),
  );
}
