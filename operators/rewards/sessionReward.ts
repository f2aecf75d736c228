/**
 * The reward that an agent, or a judge of its work, gave a session, instead of one for the answer. Its parts
 * are kept; `raw`, how right the work is, is the reward between 0 and 1.
 */
import type { Reward } from '../../topics/index.ts';
import type { RewardFunction } from './reward.ts';

/** `otherwise` scores rollouts without such a reward. */
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
