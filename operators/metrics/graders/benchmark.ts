/**
 * The reward of an evaluation: every number of ET-Agent §9.3 and §10 as a part, so that what is reported can
 * be read from the `scored` topic and recomputed by a replay. The score is the headline number.
 *
 * Parts: those of `evaluateSample` (`exact`, `contains`, `f1`, `mathEqual`, `valid`, `toolCalls`,
 * `outputLength`, and `<tag>Calls` for each tool of the job: `searchCalls`), those of `execution`, and `raw`
 * and `format` as in training. With a jury also `judged`, `judgeFailed`, `judgeUnread` if a reply could not
 * be read, what its grader says besides (`confidence`, `notAttempted`), and `concise` if it votes on that.
 * Where a question has several responses, `vote` is the place of the first that answers the same.
 */
import type { Question, Reward } from '../../../topics/index.ts';
import { extractAnswer } from '../../dialect/answer.ts';
import { withEmptyResults } from '../../dialect/results.ts';
import { correctness } from '../../rewards/accuracy.ts';
import {
  faultOf,
  type GroupForReward,
  ownTexts,
  type PureReward,
  type RewardFunction,
} from '../../rewards/reward.ts';
import type { VerifyAnswer } from '../../rewards/toolStar.ts';
import { finalAnswerForm } from '../../text/finalAnswer.ts';
import { callParts } from '../callParts.ts';
import { executions } from '../execution.ts';
import { headline } from '../headline.ts';
import { type EvaluatedSample, evaluateSample } from '../sample.ts';
import type { Jury } from './jury.ts';

/**
 * A response as evaluation sees it: its answer is the last box of the last answer block, else of the text.
 * `own` = what the policy wrote of it (default: all but the contents of results).
 */
export function evaluatedSample(
  { ability, answers }: Pick<Question, 'ability' | 'answers'>,
  output: string,
  tools: readonly string[],
  own: string = withEmptyResults(output),
): EvaluatedSample {
  const prediction = extractAnswer(own, 'rollout') ?? '';
  return { ability, output, own, prediction, references: answers, tools };
}

/** The parts without a jury. */
export function benchmark(): PureReward {
  return (group) => {
    const behaved = executions(group);
    const samples = samplesOf(group);
    const votes = votesOf(samples);
    return samples.map((sample, i) =>
      worth(group.question, { ...numbersOf(group, sample), ...behaved[i]!, ...votes[i] }),
    );
  };
}

/**
 * The parts with those of a jury, if there is one; the responses of a group are judged at once. `verify` is
 * asked about mathematical answers whose normal forms differ, before the jury (the part `verified` = it was).
 */
export function judgedBenchmark(jury: Jury | null, verify?: VerifyAnswer): RewardFunction {
  const plain = benchmark();
  return (group, signal) => {
    const samples = samplesOf(group);
    return Promise.all(
      plain(group).map(async ({ parts }, i) => {
        const sample = samples[i]!;
        const verified = await verifiedBy(verify, sample, parts, signal);
        const settled = { ...sample, equal: verified.mathEqual === 1 };
        const found = (await jury?.(group.question, settled, signal)) ?? {};
        return worth(group.question, { ...parts, ...verified, ...found });
      }),
    );
  };
}

/** What the verifier adds: it checks mathematical answers whose normal forms differ. */
async function verifiedBy(
  verify: VerifyAnswer | undefined,
  sample: EvaluatedSample,
  { mathEqual = 0, valid = 0 }: Reward['parts'],
  signal: AbortSignal | undefined,
): Promise<Reward['parts']> {
  const { ability, prediction, references } = sample;
  if (verify === undefined || ability !== 'math') return {};
  if (valid === 0 || mathEqual > 0 || prediction === '') return {};
  const form = finalAnswerForm(prediction);
  for (const reference of references) {
    const isSame = await verify(form, finalAnswerForm(reference), signal);
    if (isSame === true) return { verified: 1, mathEqual: 1, raw: 1 };
  }
  return { verified: 1 };
}

function samplesOf(group: GroupForReward): EvaluatedSample[] {
  const own = ownTexts(group);
  return group.texts.map((text, i) => evaluatedSample(group.question, text, group.tools, own[i]));
}

/**
 * Each response votes for its answer, by the index of the first that has it; a single response casts no vote.
 */
function votesOf(samples: readonly EvaluatedSample[]): readonly Reward['parts'][] {
  const answers = samples.map(({ prediction }) => prediction);
  return answers.length < 2
    ? answers.map(() => ({}))
    : answers.map((answer) => ({ vote: answers.indexOf(answer) }));
}

function worth(question: Question, parts: Reward['parts']): Reward {
  return { score: headline(parts, question), parts };
}

function numbersOf(group: GroupForReward, sample: EvaluatedSample): Reward['parts'] {
  const { question } = group;
  const { output, own = output } = sample;
  const { valid, calls, ...numbers } = evaluateSample(sample);
  return {
    ...numbers,
    ...callParts(calls),
    valid: valid ? 1 : 0,
    raw: correctness(question, own).raw,
    format: faultOf(group, own) === null ? 0 : -1,
  };
}
