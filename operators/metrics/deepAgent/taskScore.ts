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
 * | none, an environment | its rewards come to 1 or more | their sum |
 *
 * The score is the success; that of an environment without gold is the sum of its rewards.
 */
import type { Question, Reward, Rollout } from '../../../topics/index.ts';
import { callsIn } from '../../rewards/calls.ts';
import { type GroupForReward, ownTexts, type RewardFunction } from '../../rewards/reward.ts';
import type { CallGold } from '../../rewards/toolPo/callCredit.ts';
import { goldOf } from '../../rewards/toolPo/goldOf.ts';
import { hasWorld } from '../../rollout/index.ts';
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

/** Success, path, and the reward that follows from them. */
interface TaskScore extends PathScore {
  readonly score: number;
}

/** Null = only the question's answers decide. `own` = what the policy wrote. */
function taskScore(
  { question, tools }: GroupForReward,
  rollout: Rollout,
  own: string,
): TaskScore | null {
  const gold = goldOf(question);
  if (gold === null) {
    if (!hasWorld(question)) return null;
    const { success, score } = webShop(rollout.world?.reward ?? 0);
    return { success, path: score, score };
  }
  const found = goldScore(question, gold, rollout, { own, tools });
  return { ...found, score: found.success };
}

function goldScore(
  question: Question,
  gold: CallGold,
  rollout: Rollout,
  { own, tools }: { readonly own: string; readonly tools: readonly string[] },
): PathScore {
  const calls = recordedCalls(rollout);
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
      return alfWorld(
        rollout.world?.done ?? false,
        rollout.episode === null ? resultsIn(rollout, tools) : calls,
        gold.patterns,
      );
    default:
      throw new Error(`unknown gold '${(gold satisfies never as { kind: string }).kind}'`);
  }
}

/** What its tools answered, for a rollout that is not an episode. */
function resultsIn({ text }: Rollout, tools: readonly string[]): { readonly response: string }[] {
  return callsIn(text, tools).map(({ result }) => ({ response: result ?? '' }));
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
      const { path, score } = found;
      // If there is a judge, it decides whether ToolBench's task was solved.
      const isJudged = group.question.task?.gold?.kind === 'tools';
      const success = (isJudged ? reward.parts.judged : undefined) ?? found.success;
      const worth = isJudged ? success : score;
      return { score: worth, parts: { ...reward.parts, raw: success, success, path } };
    });
  };
}

/** The same for questions with an environment; `otherwise` scores all others. */
export function worldSuccess(otherwise: RewardFunction): RewardFunction {
  const reward = taskSuccess(otherwise);
  return (group, signal) => (hasWorld(group.question) ? reward : otherwise)(group, signal);
}

/** For each response of a group. */
function taskScores(group: GroupForReward): readonly (TaskScore | null)[] {
  const own = ownTexts(group);
  return group.texts.map((_, i) => {
    const rollout = group.rollouts?.[i];
    return rollout === undefined ? null : taskScore(group, rollout, own[i] ?? '');
  });
}
