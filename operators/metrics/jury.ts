/**
 * Models as judges of responses (ET-Agent §9.4, §10): is the answer right, and were its tool calls needed?
 *
 * Any model can be a judge: the jury only needs text. A verdict is that of LaTeX equality with any
 * reference, or the judge's; what equality has settled is not asked. A response without a tool call is
 * concise unasked. A model that gives nothing is asked again, twice, after waits; what it then still leaves
 * open counts as not right, and as a failure. Draws are keyed by question and request, so a resumed run asks
 * the same and a cache can answer.
 */
import type { DrawKey } from '../../base/index.ts';
import type { Question, Reward } from '../../topics/index.ts';
import { firstCall } from '../dialect/calls.ts';
import { isEquivalent } from '../text/latex.ts';
import { isConcise, redundancyVote, saysCorrect } from './judge.ts';
import { judgePrompt, redundancyPrompt, solvedPrompt } from './juryPrompts.ts';
import { type EvaluatedSample, predictionOf } from './sample.ts';

/** What a model is asked; how it samples is the caller's. */
export interface JuryRequest {
  readonly draws: readonly DrawKey[];
  readonly prompt: string;
  /** The reply may end after the first of these. */
  readonly stop: readonly string[];
}

/** Asks a model; null when it gave up. Rejects when `signal` aborts. */
export type AskModel = (request: JuryRequest, signal?: AbortSignal) => Promise<string | null>;

/** Who judges answers and calls, and how often. */
export interface JuryOptions {
  readonly seed: number;
  /** Says whether an answer is right. */
  readonly judge: AskModel;
  /** Votes on redundant calls; left out = no vote. */
  readonly critic?: AskModel;
  /** Votes a response (default 10, the reference's). */
  readonly votes?: number;
  /** Resolves after that time; rejects when the signal aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** The parts that a jury adds: `judged` and `judgeFailed` (0 or 1), `concise` (0 or 1) if it voted. */
export type Jury = (
  question: Question,
  sample: EvaluatedSample,
  signal?: AbortSignal,
) => Promise<Reward['parts']>;

/** Waits before the second and the third try. */
const WAITS_MS = [1000, 2000];
const VOTES = 10;

/**
 * A jury of models (ET-Agent §9.4, §10): whether the answer is right (LaTeX equality first, then the judge),
 * and whether its calls were needed (votes).
 */
export function jury(options: JuryOptions): Jury {
  return async (question, sample, signal) => {
    const [verdict, concise] = await Promise.all([
      judged(question, sample, options, signal),
      votedConcise(question, sample, options, signal),
    ]);
    return { ...verdict, ...concise };
  };
}

async function judged(
  question: Question,
  sample: EvaluatedSample,
  options: JuryOptions,
  signal?: AbortSignal,
): Promise<Reward['parts']> {
  const prediction = predictionOf(sample);
  const settled = (right: boolean, failed = false): Reward['parts'] => ({
    judged: right ? 1 : 0,
    judgeFailed: failed ? 1 : 0,
  });
  if (prediction === '') return settled(false);
  const { references, equal = false } = sample;
  if (references.length === 0 && !isSolved(question)) return {};
  if (equal || references.some((one) => isEquivalent(prediction, one, 'rollout')))
    return settled(true);
  const about = { question: question.question, prediction };
  const prompt =
    references.length === 0 ? solvedPrompt(about) : judgePrompt({ ...about, references });
  const key = [options.seed, question.id, 'judge'];
  const reply = await asked(options.judge, { key, prompt, stop: [] }, options, signal);
  return reply === null ? settled(false, true) : settled(saysCorrect(reply));
}

/** A question without an answer whose task a judge sees solved or not (ToolBench). */
function isSolved({ task }: Question): boolean {
  return task?.gold?.kind === 'tools';
}

async function votedConcise(
  question: Question,
  { output, tools }: EvaluatedSample,
  options: JuryOptions,
  signal?: AbortSignal,
): Promise<Reward['parts']> {
  const { critic, votes = VOTES } = options;
  if (critic === undefined) return {};
  if (firstCall(output, tools) < 0) return { concise: 1 };
  const prompt = redundancyPrompt({ question: question.question, output, tools });
  const replies = await Promise.all(
    Array.from({ length: votes }, (_, vote) => {
      const key = [options.seed, question.id, 'redundancy', vote];
      return asked(critic, { key, prompt, stop: ['</answer>'] }, options, signal);
    }),
  );
  const given = replies.filter((reply) => reply !== null);
  return given.length === 0 ? {} : { concise: isConcise(given.map(redundancyVote)) ? 1 : 0 };
}

interface Request {
  readonly key: readonly DrawKey[];
  readonly prompt: string;
  readonly stop: readonly string[];
}

/** The first reply of three tries; null if there was none. */
async function asked(
  ask: AskModel,
  { key, prompt, stop }: Request,
  { sleep }: JuryOptions,
  signal?: AbortSignal,
): Promise<string | null> {
  for (let attempt = 0; ; attempt++) {
    const reply = await ask({ draws: [...key, attempt], prompt, stop }, signal);
    const waitMs = WAITS_MS[attempt];
    if (reply !== null || waitMs === undefined) return reply;
    await sleep(waitMs, signal);
  }
}
