/**
 * Success and path of an episode by what its question says (`task`): DeepAgent's benchmarks (§4.3), and
 * questions of one's own with gold calls or an environment.
 *
 * | gold | success | path |
 * |---|---|---|
 * | `tools` | all of them were called (where no judge decides) | share that was called |
 * | `endpoints` | all of them were used | share that was used |
 * | `calls` | all of them were made, with equal arguments | share that was made |
 * | `answers` | the boxed answer is the gold one | share that some result holds |
 * | `patterns` | the environment was done | share that some result fits |
 * | none, an environment | its rewards come to 1 | their sum |
 */
import type { Question, Reward, Rollout } from '../../../topics/index.ts';
import { type GroupForReward, ownTexts, type RewardFunction } from '../../rewards/reward.ts';
import { goldOf } from '../../rewards/toolPo/goldOf.ts';
import {
  alfWorld,
  apiBank,
  endpointsUsed,
  restBench,
  toolBenchPath,
  toolHop,
  webShop,
} from './paths.ts';
import { type PathScore, recordedCalls } from './recorded.ts';

/** Null = the question's answers alone decide. `own` = what the policy wrote. */
export function taskScore(question: Question, rollout: Rollout, own: string): PathScore | null {
  const gold = goldOf(question);
  const world = rollout.episode?.world ?? null;
  const calls = recordedCalls(rollout);
  if (gold === null) {
    if (!hasWorld(question)) return null;
    const { success, score } = webShop(world?.reward ?? 0);
    return { success, path: score };
  }
  switch (gold.kind) {
    case 'tools': {
      const path = toolBenchPath(calls, gold.tools);
      return { success: path === 1 ? 1 : 0, path };
    }
    case 'endpoints':
      return restBench(endpointsUsed(calls, gold.endpoints), gold.endpoints);
    case 'calls': {
      const { success, path } = apiBank(calls, gold.calls);
      return { success, path };
    }
    case 'answers':
      return toolHop(own, calls, { answer: question.answers[0] ?? '', subAnswers: gold.answers });
    case 'patterns':
      return alfWorld(world?.done ?? false, calls, gold.patterns);
    default:
      throw new Error(`unknown gold '${(gold satisfies never as { kind: string }).kind}'`);
  }
}

function hasWorld({ task }: Question): boolean {
  return (task?.world ?? '') !== '';
}

/**
 * R_success by the question's task: `raw` is then its success, and the parts have `success` and `path`;
 * other questions are `otherwise`'s alone.
 */
export function taskSuccess(otherwise: RewardFunction): RewardFunction {
  return async (group, signal) => {
    const rewards = await otherwise(group, signal);
    const scores = taskScores(group);
    return rewards.map((reward, i): Reward => {
      const found = scores[i] ?? null;
      if (found === null) return reward;
      const { path } = found;
      // Whether ToolBench's task was solved is a judge's to say, if there is one.
      const isJudged = group.question.task?.gold?.kind === 'tools';
      const success = (isJudged ? reward.parts.judged : undefined) ?? found.success;
      return { score: success, parts: { ...reward.parts, raw: success, success, path } };
    });
  };
}

/** Of each response of a group. */
export function taskScores(group: GroupForReward): readonly (PathScore | null)[] {
  const own = ownTexts(group);
  return group.texts.map((_, i) => {
    const rollout = group.rollouts?.[i];
    return rollout === undefined ? null : taskScore(group.question, rollout, own[i] ?? '');
  });
}
