/**
 * The reward of an evaluation: every number of ET-Agent §9.3 and §10 as a part, so that what is reported can be read
 * from the `scored` topic and told again by a replay. The score is the headline number.
 *
 * Parts: those of `evaluateSample` (`exact`, `contains`, `f1`, `mathEqual`, `valid`, `toolCalls`, `outputLength`, and
 * `<tag>Calls` for each tool of the job: `searchCalls`), those of `execution`, and `raw` and `format` as in training. With a jury also `judged`,
 * `judgeFailed`, and `concise` where it votes on that.
 */
import type { Question, Reward } from '../../streams/records.ts';
import { extractAnswer } from '../dialect/answer.ts';
import { isWellFormed } from '../dialect/format.ts';
import { correctness } from '../rewards/accuracy.ts';
import type { GroupForReward, PureReward, RewardFunction } from '../rewards/reward.ts';
import { callParts } from './callParts.ts';
import { executions } from './execution.ts';
import { headline } from './headline.ts';
import type { Jury } from './jury.ts';
import { type EvaluatedSample, evaluateSample } from './sample.ts';

/** A response as evaluation sees it: its answer is the last box of the last answer block, else of the text. */
export function evaluatedSample(
  { ability, answers }: Pick<Question, 'ability' | 'answers'>,
  output: string,
  tools: readonly string[],
): EvaluatedSample {
  const prediction = extractAnswer(output, 'rollout') ?? '';
  return { ability, output, prediction, references: answers, tools };
}

/** The parts without a jury. */
export function benchmark(): PureReward {
  return (group) => {
    const behaved = executions(group);
    return group.texts.map((text, i) =>
      worth(group.question, { ...numbersOf(group, text), ...behaved[i]! }),
    );
  };
}

/** The parts with those of a jury; the responses of a group are judged at once. */
export function judgedBenchmark(jury: Jury): RewardFunction {
  const plain = benchmark();
  return (group, signal) =>
    Promise.all(
      plain(group).map(async ({ parts }, i) => {
        const sample = evaluatedSample(group.question, group.texts[i]!, group.tools);
        const found = await jury(group.question, sample, signal);
        return worth(group.question, { ...parts, ...found });
      }),
    );
}

function worth({ ability }: Question, parts: Reward['parts']): Reward {
  return { score: headline(parts, ability), parts };
}

function numbersOf({ question, tools }: GroupForReward, text: string): Reward['parts'] {
  const { valid, calls, ...numbers } = evaluateSample(evaluatedSample(question, text, tools));
  return {
    ...numbers,
    ...callParts(calls),
    valid: valid ? 1 : 0,
    raw: correctness(question, text).raw,
    format: isWellFormed(text, 'reward', tools) ? 0 : -1,
  };
}
