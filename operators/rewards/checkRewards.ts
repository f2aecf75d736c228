/**
 * Checks the output of a reward: one reward for each rollout, every number finite, and the parts that other
 * code reads. A single NaN would be the mean of its batch, and the step would train nothing.
 */

import { MillraceError, thrownBy } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import { asked, type Reward, type Rollout } from '../../topics/index.ts';

/** The part with the reward of a rollout's actions. */
export const ACTION = 'action';

/**
 * Fails with code `REWARD` unless there is a reward for each rollout, and its score and parts are finite
 * numbers.
 */
export function checkRewards(rewards: readonly Reward[], rollouts: readonly Rollout[]): void {
  const given = Array.isArray(rewards) ? String(rewards.length) : shown(rewards);
  if (given !== String(rollouts.length)) {
    throw wrong(
      `the reward gave ${given} rewards for the ${counted(rollouts.length, 'rollout')} of ${asked(rollouts[0]!.question)}: return one each, in order`,
      rollouts[0]!,
    );
  }
  for (const [i, reward] of rewards.entries()) {
    const fault = faultIn(reward);
    if (fault !== null) throw notFinite(fault, rollouts[i]!);
  }
}

/** The same check for a custom advantage. */
export function checkAdvantages(values: readonly number[], rollouts: readonly Rollout[]): void {
  if (values.length !== rollouts.length) {
    const counts = `${counted(values.length, 'advantage')} for the ${counted(rollouts.length, 'rollout')}`;
    throw wrong(
      `the advantage gave ${counts} of ${asked(rollouts[0]!.question)}: return one each`,
      rollouts[0]!,
    );
  }
  const at = values.findIndex((value) => !Number.isFinite(value));
  if (at < 0) return;
  const { id } = rollouts[at]!;
  throw wrong(
    `the advantage of rollout ${id} is ${shown(values[at])}, not a finite number, though its rewards are; check the job's advantage`,
    rollouts[at]!,
  );
}

/** What is wrong with a reward, for a message; null = nothing. */
function faultIn(reward: Reward): string | null {
  if (typeof reward !== 'object' || reward === null) return `is ${shown(reward)};`;
  const { score, parts } = reward;
  if (typeof parts !== 'object' || parts === null) return `has no \`parts\` ({} for none);`;
  // The part shows which of several rewards it was; their sum does not.
  const part = Object.keys(parts).find((name) => !Number.isFinite(parts[name]));
  if (part !== undefined) return `has the part \`${part}\` = ${shown(parts[part])};`;
  return Number.isFinite(score) ? null : `has the score ${shown(score)};`;
}

function notFinite(fault: string, rollout: Rollout): MillraceError {
  const failed = rollout.status === 'done' ? '' : ` (it ${rollout.status}: ${rollout.reason})`;
  return wrong(
    `the reward of rollout ${rollout.id}${failed} ${fault} score and parts must be finite numbers, ` +
      'or nothing can be trained on them. To see what the reward was given: ' +
      `millrace tap RUN.rollouts --where 'v.id === ${JSON.stringify(rollout.id)}'. ` +
      'Correct the reward and start the run again: it resumes at this group',
    rollout,
  );
}

/** The error of a reward that threw, with the place in the user's file. */
export function rewardThrew(cause: unknown, rollout: Rollout): MillraceError {
  return wrong(
    `the reward failed on ${asked(rollout.question)}: ${thrownBy(cause)}`,
    rollout,
    cause,
  );
}

function wrong(message: string, rollout: Rollout, cause?: unknown): MillraceError {
  const context = { question: rollout.question.id, rollout: rollout.id };
  return new MillraceError(
    'REWARD',
    message,
    cause === undefined ? { context } : { context, cause },
  );
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** Without this check, a missing part would read as 0 everywhere: nothing right, nothing to choose by. */
export function checkPart(
  part: string,
  rewards: readonly Reward[],
  { id }: Rollout['question'],
): void {
  const without = rewards.find(({ parts }) => parts[part] === undefined);
  if (without === undefined) return;
  const names = Object.keys(without.parts).join(', ') || 'none';
  const how =
    part === 'raw'
      ? 'it says how correct a response is, and accuracy and Pareto sampling read it. Add `accuracy()`, with weight 0 if it should not count: weighted([{ weight: 1, reward: yours }, { weight: 0, reward: accuracy() }])'
      : part === ACTION
        ? 'the advantage of actions needs it: use a reward that provides it, such as toolPo()'
        : 'a later stage reads it: give it to every rollout';
  throw new MillraceError(
    'REWARD_PART',
    `the reward of question ${id} has no part \`${part}\` (its parts: ${names}); ${how}`,
    { context: { part, question: id } },
  );
}
