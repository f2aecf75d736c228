/**
 * What an agent, or whoever judges its work, said of a session, in place of what the answer is worth. Its
 * parts are kept; `raw`, how right the work is, is the reward between 0 and 1.
 */
import type { Reward } from '../../topics/index.ts';
import type { RewardFunction } from './reward.ts';

/** Rollouts without such a reward are worth what `otherwise` says. */
export function sessionReward(otherwise: RewardFunction): RewardFunction {
  return async (group, signal) => {
    const rewards = await otherwise(group, signal);
    return rewards.map((reward, i): Reward => {
      const { reward: said = null, rewardParts = {} } = group.rollouts?.[i]?.session ?? {};
      if (said === null) return reward;
      const raw = Math.min(1, Math.max(0, said));
      return { score: said, parts: { ...rewardParts, ...reward.parts, raw, session: said } };
    });
  };
}
