/**
 * `millrace try`: one question through a job's prompt, policy, tools and reward, without a run: the loop in
 * which a prompt or a reward is written. Nothing is trained, and nothing is kept.
 */
import { resolve } from 'node:path';
import { jsonText } from '../base/terminal/index.ts';
import { counted, terminalText } from '../base/text/index.ts';
import type { Attempt, OpenedLoop } from '../jobs/index.ts';
import { type Dialect, formatReason } from '../operators/dialect/index.ts';
import { correctness, ownTexts } from '../operators/rewards/index.ts';
import { significant } from '../summary/format/index.ts';
import type { Question, Reward, Rollout } from '../topics/index.ts';
import { exitCodes, usageError } from './failure.ts';
import { type GivenFlags, givenSettings } from './givenSettings.ts';
import type { Io } from './io.ts';
import { loadJob } from './loadJob.ts';
import { scratchBuild } from './scratchBuild.ts';
import { checkSettings } from './settings.ts';

export interface TryOptions extends GivenFlags {
  readonly job: string;
  readonly runs: string;
  /** A question of one's own, with what is right. */
  readonly question?: string;
  readonly answer: readonly string[];
  /** One of the job's questions; neither = its first. */
  readonly id?: string;
  /** Rollouts of the question. */
  readonly rollouts: number;
  readonly seed: number;
  readonly json?: boolean;
}

export async function tryCommand(options: TryOptions, io: Io): Promise<number> {
  const { question, id, answer, seed } = options;
  if (question !== undefined && id !== undefined)
    throw usageError('--question and --id exclude each other: give one of them');
  if (question === undefined && answer.length > 0)
    throw usageError('--answer is what is right for --question: give that too');
  const job = await loadJob(options.job, io.cwd);
  const settings = checkSettings(job.settings, await givenSettings(job, options, io));
  let tried = false;
  const opened = async (loop: OpenedLoop): Promise<void> => {
    tried = true;
    const asked = askedFrom(loop, options);
    const { dialect } = loop;
    const prompt = dialect.tokenizer.decode(dialect.prompt(asked.question));
    const attempt = await loop.attempt(asked, options.rollouts);
    const shown = { question: asked, prompt, attempt, dialect };
    await io.out(options.json === true ? asJson(shown) : terminalText(asText(shown)));
  };
  await scratchBuild({ job, settings, seed, runs: resolve(io.cwd, options.runs) }, { opened }, io);
  if (!tried) throw usageError(`job ${job.name} rolls nothing out, so there is nothing to try`);
  return exitCodes.done;
}

/** As the first round would ask it. */
function askedFrom(loop: OpenedLoop, { question, answer, id }: TryOptions): Question {
  const planned = loop.planned(id ?? null);
  const as = { phase: 'explore', round: 1, schedule: null } as const;
  if (question === undefined) {
    if (planned !== null) return { ...planned, ...as };
    throw usageError(
      id === undefined
        ? 'the questions of this job come from outside: give one with --question TEXT --answer TEXT'
        : `the job has no question with the id ${id}`,
    );
  }
  const { source = 'try', ability = 'qa' } = planned ?? {};
  return { id: 'try', question, answers: [...answer], source, ability, ...as };
}

interface Shown {
  readonly question: Question;
  readonly prompt: string;
  readonly attempt: Attempt;
  readonly dialect: Pick<Dialect, 'name' | 'tools' | 'formatFault'>;
}

/** What a reward reads in a rollout, and what it makes of it. */
interface Verdict {
  readonly rollout: Rollout;
  readonly reward: Reward;
  readonly lengthTokens: number;
  /** What the papers' accuracy reads as the answer; empty if nothing. */
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

function asJson(shown: Shown): string {
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

function asText(shown: Shown): string {
  const { question, prompt, dialect } = shown;
  const { id, question: asked, answers } = question;
  const right = answers.length === 0 ? 'not given: nothing counts as right' : answers.join(' | ');
  const head = [
    `question ${id}: ${asked}`,
    `right:    ${right}`,
    '',
    `prompt, dialect ${dialect.name}:`,
    indented(prompt),
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
