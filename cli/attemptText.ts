/**
 * The result of trying a question: rollouts, their answers, form and rewards, for people and for programs.
 */
import { jsonText } from '../base/terminal/index.ts';
import { counted } from '../base/text/index.ts';
import type { Attempt } from '../jobs/index.ts';
import { type Dialect, formatReason } from '../operators/dialect/index.ts';
import { correctness, ownTexts } from '../operators/rewards/index.ts';
import { significant } from '../summary/format/index.ts';
import type { Question, Reward, Rollout } from '../topics/index.ts';

/** A question as it was asked, and the result. */
export interface Shown {
  readonly question: Question;
  /** Empty = the prompt is not a single text. */
  readonly prompt: string;
  readonly attempt: Attempt;
  readonly dialect: Pick<Dialect, 'name' | 'tools' | 'formatFault'>;
}

/** What a reward reads in a rollout, and the reward. */
interface Verdict {
  readonly rollout: Rollout;
  readonly reward: Reward;
  readonly lengthTokens: number;
  /** The answer as read by the papers' accuracy; empty if there is none. */
  readonly answer: string;
  /** What is wrong with its form; null = nothing. */
  readonly fault: string | null;
}

function verdictsOf({ question, attempt, dialect }: Shown): Verdict[] {
  const { rollouts, scored } = attempt;
  const { tools } = dialect;
  const texts = rollouts.map(({ text }) => text);
  const lengths = scored.lengths;
  const own = ownTexts({ question, tools, texts, lengths });
  return rollouts.map((rollout, i) => {
    const fault = dialect.formatFault(own[i]!, 'reward');
    return {
      ...{ rollout, reward: scored.rewards[i]!, lengthTokens: lengths[i]! },
      answer: correctness(question, own[i]!).answer,
      fault: fault === null ? null : formatReason(fault),
    };
  });
}

export function attemptJson(shown: Shown): string {
  const { question, prompt } = shown;
  const rollouts = verdictsOf(shown).map(({ rollout, reward, lengthTokens, answer, fault }) => ({
    ...{
      text: rollout.text,
      status: rollout.status,
      finish: rollout.finish,
      reason: rollout.reason,
    },
    ...{ toolCalls: rollout.toolCalls, lengthTokens, answer, fault },
    ...{ reward: reward.score, parts: reward.parts },
  }));
  return jsonText({ question, prompt, rollouts });
}

export function attemptText(shown: Shown): string {
  const { question, prompt, dialect } = shown;
  const { id, question: asked, answers } = question;
  const right = answers.length === 0 ? 'not given: nothing counts as right' : answers.join(' | ');
  const head = [
    `question ${id}: ${asked}`,
    `right:    ${right}`,
    ...(prompt === '' ? [] : ['', `prompt, dialect ${dialect.name}:`, indented(prompt)]),
  ];
  const all = verdictsOf(shown);
  const parts = all.flatMap((verdict, i) => [
    '',
    ...lines(verdict, `rollout ${i + 1} of ${all.length}`),
  ]);
  return `${[...head, ...parts].join('\n')}\n`;
}

const number = significant(4);

const FINISHES: Readonly<Record<Rollout['finish'], string>> = {
  answer: 'answered',
  stop: 'stopped without an answer',
  length: 'cut off at responseMax',
  callLimit: 'ended by callLimit',
  failed: 'failed',
  cancelled: 'cancelled',
};

function lines({ rollout, reward, lengthTokens, answer, fault }: Verdict, name: string): string[] {
  const { finish, reason, toolCalls, text } = rollout;
  const why = reason === '' ? '' : ` (${reason})`;
  const sizes = `${counted(lengthTokens, 'token')}, ${counted(toolCalls, 'tool call')}`;
  const parts = Object.entries(reward.parts);
  const width = Math.max(0, ...parts.map(([part]) => part.length));
  return [
    `${name}: ${FINISHES[finish]}${why}, ${sizes}`,
    indented(text),
    `answer: ${answer === '' ? 'none was read' : answer}`,
    `form:   ${fault ?? 'valid'}`,
    `reward: ${number(reward.score)}`,
    ...parts.map(([part, value]) => `  ${part.padEnd(width)}  ${number(value)}`),
  ];
}

function indented(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}
