/**
 * `millrace try`: one question through a job's prompt, policy, tools and reward, without a run: for writing a
 * prompt or a reward. Nothing is trained or kept.
 */
import { resolve } from 'node:path';
import { terminalText } from '../base/text/index.ts';
import type { OpenedLoop } from '../jobs/index.ts';
import type { Question } from '../topics/index.ts';
import { attemptJson, attemptText } from './attemptText.ts';
import { exitCodes, usageError } from './failure.ts';
import { type GivenFlags, givenSettings } from './givenSettings.ts';
import type { Io } from './io.ts';
import { loadJob } from './loadJob.ts';
import { scratchBuild } from './scratchBuild.ts';
import { checkSettings } from './settings.ts';

export interface TryOptions extends GivenFlags {
  readonly job: string;
  readonly runs: string;
  /** The user's own question, with the right answers. */
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
    throw usageError('--answer is the right answer to --question: give both');
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
    await io.out(options.json === true ? attemptJson(shown) : terminalText(attemptText(shown)));
  };
  await scratchBuild({ job, settings, seed, runs: resolve(io.cwd, options.runs) }, { opened }, io);
  if (!tried) throw usageError(`job ${job.name} rolls nothing out, so there is nothing to try`);
  return exitCodes.done;
}

/** The question as the first round would ask it. */
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
