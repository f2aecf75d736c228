/**
 * Models as judges of responses (ET-Agent §9.4, §10): is the answer right, and were its tool calls needed?
 *
 * Any model can be a judge: the jury only needs text. How it is asked and read is the grader's, and where
 * that puts LaTeX equality first, what equality has settled is not asked. A response without a tool call is
 * concise unasked. A model that gives nothing is asked again, twice, after waits; what it then still leaves
 * open counts as not right, and as a failure; so does a reply that says no verdict, as one that was not read.
 * A task without an answer (ToolBench) is judged by votes (solvedVotes.ts). Draws are keyed by question and
 * request, so a resumed run asks the same and a cache can answer.
 */
import type { DrawKey } from '../../../base/index.ts';
import type { Question, Reward } from '../../../topics/index.ts';
import { firstCall } from '../../dialect/calls.ts';
import { afterLastResult } from '../../dialect/steps.ts';
import { isEquivalent } from '../../text/latex.ts';
import { type EvaluatedSample, predictionOf } from '../sample.ts';
import { type GradedAnswer, type Grader, spokenIn, type Verdict } from './grader.ts';
import { isConcise, redundancyVote } from './judge.ts';
import { redundancyPrompt } from './juryPrompts.ts';
import { papers } from './papers.ts';
import { votedSolved } from './solvedVotes.ts';

/** A request to a model; how it samples is up to the caller. */
export interface JuryRequest {
  readonly draws: readonly DrawKey[];
  readonly prompt: string;
  /** The reply may end after the first of these. */
  readonly stop: readonly string[];
}

/** Asks a model; null if it gave up. Rejects if `signal` aborts. */
export type AskModel = (request: JuryRequest, signal?: AbortSignal) => Promise<string | null>;

/** Who judges answers and calls, and how often. */
export interface JuryOptions {
  readonly seed: number;
  /** Judges whether an answer is right; null = no model does, so only rules grade. */
  readonly judge: AskModel | null;
  /** The grader for a question's answers; left out = the papers' judge. */
  readonly grader?: (question: Question) => Grader;
  /** Votes on redundant calls; left out = no vote. */
  readonly critic?: AskModel;
  /** Votes per response (default 10, the reference's). */
  readonly votes?: number;
  /** For tasks without a reference (ToolBench), as released: one that cannot be solved passes unsolved. */
  readonly unsolvablePasses?: boolean;
  /** Resolves after that time; rejects if the signal aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * The parts that a jury adds: `judged` and `judgeFailed` (0 or 1), `judgeUnread` (1) if the judge's reply
 * says no verdict, what the grader says besides, `concise` (0 or 1) if it voted.
 */
export type Jury = (
  question: Question,
  sample: EvaluatedSample,
  signal?: AbortSignal,
) => Promise<Reward['parts']>;

/** Waits before the second and the third attempt. */
const WAITS_MS = [1000, 2000];
const VOTES = 10;
/** Votes of the judge on a task without a reference. */
const SOLVED_VOTES = 4;

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
  const { references, equal = false, own = sample.output } = sample;
  const { judge, grader: graderOf = () => papers } = options;
  const grader = graderOf(question);
  const response = lastOf(own);
  const about: GradedAnswer = { question: question.question, references, prediction, response };
  if ('decide' in grader) return prediction === '' ? settled(false) : partsOf(grader.decide(about));
  if (judge === null) return {};
  if (prediction === '') return settled(false);
  if (references.length === 0) {
    if (!isSolved(question)) return {};
    const { seed, unsolvablePasses = false } = options;
    const solved = await votedSolved(
      question,
      { prediction, output: sample.output },
      (key, prompt) =>
        asked(judge, { key: [seed, question.id, ...key], prompt, stop: [] }, options, signal),
      { seed, votes: SOLVED_VOTES, unsolvablePasses },
    );
    return solved === null ? settled(false, { judgeFailed: 1 }) : settled(solved);
  }
  const isRight = {
    equality: () => equal || references.some((one) => isEquivalent(prediction, one, 'rollout')),
    'same text': () => references.includes(prediction.trim()),
  };
  if (grader.first !== null && isRight[grader.first]()) return settled(true);
  const key = [options.seed, question.id, 'judge'];
  const reply = await asked(
    judge,
    { key, prompt: grader.prompt(about), stop: [] },
    options,
    signal,
  );
  if (reply === null) return settled(false, { judgeFailed: 1 });
  const spoken = spokenIn(reply);
  const verdict = spoken === null ? null : grader.read(spoken);
  return verdict === null ? settled(false, { judgeUnread: 1 }) : partsOf(verdict);
}

function settled(right: boolean, parts: Reward['parts'] = {}): Reward['parts'] {
  return { judged: right ? 1 : 0, judgeFailed: 0, ...parts };
}

function partsOf({ right, parts }: Verdict): Reward['parts'] {
  return settled(right, parts);
}

/** Limit of code points of a response shown to a judge. */
const RESPONSE_MAX = 10_000;

/** The end of what the policy wrote, after the last result. */
function lastOf(own: string): string {
  return [...afterLastResult(own)].slice(-RESPONSE_MAX).join('');
}

/** A question without an answer, for whose task a judge decides whether it was solved (ToolBench). */
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

/** The first reply of three attempts; null if there was none. */
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
