/**
 * The error that ends a run after a round with too few demonstrations: why, counted over its attempts, and
 * what to try.
 */
import { MillraceError } from '../base/index.ts';
import { counted } from '../base/text/index.ts';
import { type Dialect, withEmptyResults } from '../operators/dialect/index.ts';
import { type Log, recordsOf } from '../streams/index.ts';
import { topics } from '../topics/index.ts';

/** The error for a round with fewer than `least` demonstrations (code `NO_DEMONSTRATIONS`). */
export function tooFewDemonstrations(
  log: Log,
  { formatFault }: Pick<Dialect, 'formatFault'>,
  least: number,
): (round: { readonly round: number; readonly examples: number }) => Promise<Error> {
  return async ({ round, examples }) => {
    const tally = await tallyOf(log, formatFault, round);
    return new MillraceError(
      'NO_DEMONSTRATIONS',
      `${counted(examples, 'demonstration')} to fine-tune on, but finetune.demonstrationsMin is ${least}: ${inWords(tally)}. ` +
        'Fine-tune on demonstrations from a file first (cold-start or et-agent with sft.data=FILE), let a stronger model make them ' +
        '(cold-start with teacher.url), or make more and safer attempts (cold-start with more own.attempts and own.opened, a lower own.temperature): docs/coldStart.md',
      { context: { round, examples, least } },
    );
  };
}

/** The outcomes of the attempts of a round; one attempt may count under several. */
interface Tally {
  readonly questions: number;
  readonly attempts: number;
  readonly withoutCall: number;
  readonly wrong: number;
  readonly malformed: number;
  /** Failed calls in attempts that were right. */
  readonly failedCalls: number;
  /** Questions that gave nothing, and why the first one did not. */
  readonly failed: number;
  readonly why: string;
}

async function tallyOf(
  log: Log,
  formatFault: Dialect['formatFault'],
  round: number,
): Promise<Tally> {
  const from = { kind: 'earliest' } as const;
  const questions = new Set<string>();
  let [attempts, withoutCall, wrong, malformed, failedCalls, failed] = [0, 0, 0, 0, 0, 0];
  let why = '';
  for await (const { value } of recordsOf(log, topics.evolved, { from })) {
    const { question, action, toolCalls, correct, text } = value;
    if (question.round !== round) continue;
    questions.add(question.id);
    if (action === 'failed') {
      failed++;
      why ||= text;
      continue;
    }
    attempts++;
    if (toolCalls === 0) withoutCall++;
    if (!correct) wrong++;
    if (formatFault(withEmptyResults(text), 'selection') !== null) malformed++;
  }
  for await (const { value } of recordsOf(log, topics.demonstrations, { from })) {
    if (value.question.round !== round) continue;
    failedCalls += value.dropped.filter((one) => one.why === 'failed call').length;
  }
  const size = questions.size;
  return { questions: size, attempts, withoutCall, wrong, malformed, failedCalls, failed, why };
}

function inWords(tally: Tally): string {
  const { questions, attempts, failed, why } = tally;
  const found = [
    `${tally.withoutCall} called no tool`,
    `${tally.wrong} were wrong`,
    `${tally.malformed} had an invalid format`,
    ...(tally.failedCalls === 0 ? [] : [`${tally.failedCalls} were right after a failed call`]),
  ];
  const none = failed === 0 ? '' : `; ${counted(failed, 'question')} got no attempt (${why})`;
  return `of ${counted(attempts, 'attempt')} at ${counted(questions, 'question')}, ${found.join(', ')}${none}`;
}
