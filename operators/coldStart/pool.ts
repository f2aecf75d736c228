/**
 * Tool-Star's cold start (§4.1) as a pool of trajectories of one question: `evolve({ grow: coldStartPool()
 * })`.
 *
 * - `direct`: answers without tools. A policy that calls one anyway is stopped before the call and made
 *   to answer.
 * - `tools`: tool-integrated answers (TIR prompting).
 * - `verify-hint`, `reflect-hint`: each direct chain, cut at a hint and continued with tools (hints.ts).
 *   Their parent is that chain.
 *
 * A rule decides whether an answer is right, the one that RL is rewarded by; no model judges. Every request
 * is keyed by its name, so timing changes nothing. A trajectory that fails is dropped with its reason; the
 * others stay.
 */
import type { Question } from '../../topics/index.ts';
import { extractAnswer } from '../dialect/answer.ts';
import { firstCall } from '../dialect/calls.ts';
import { withEmptyResults } from '../dialect/results.ts';
import { type FlywheelOptions, grow, type Turn } from '../evolve/context.ts';
import {
  type EvolvedTrajectory,
  type Grow,
  label,
  reasonOf,
  type TurnReport,
  together,
} from '../evolve/flywheel.ts';
import type { Hints } from '../evolve/hints.ts';
import { RIGHT_FROM } from '../preferences/candidate.ts';
import { correctness } from '../rewards/accuracy.ts';
import { stripEnd } from '../text/characters.ts';
import { type ColdStartHints, coldStartHints, reflectFrom, verifyFrom } from './hints.ts';

/** How many answers of each kind to try, how to prompt the policy for them, and what counts as right. */
export interface ColdStartOptions {
  /** Direct answers per question (default 1). */
  readonly direct?: number;
  /** Tool-integrated answers per question (default 3). */
  readonly tools?: number;
  /** Null = no hint-based sampling (default `coldStartHints`). */
  readonly hints?: ColdStartHints | null;
  /**
   * What to ask the policy, if answering without tools and with them takes other words than the question
   * alone.
   */
  readonly ask?: {
    readonly direct?: (question: string) => string;
    readonly tools?: (question: string) => string;
  };
  /** How a tool-integrated answer begins, by its number from 0; '' (default) = nothing. */
  readonly begin?: (question: Question, number: number) => string;
  /** Whether a trajectory's answer is right (default: equivalent in mathematics, a match for knowledge). */
  readonly isRight?: (question: Question, text: string) => boolean;
}

/** The outcome of one attempt: '' if it gave nothing, with the reason if it failed. */
interface Attempt {
  readonly action: string;
  readonly parent: number | null;
  readonly text: string;
  readonly why: string;
}

/**
 * The pool of Tool-Star's cold start (§4.1), for `evolve`: direct answers, tool-integrated answers, and
 * hinted continuations.
 */
export function coldStartPool(options: ColdStartOptions = {}): Grow {
  const { direct = 1, tools = 3, hints = coldStartHints, ask = {}, begin } = options;
  const isRight = options.isRight ?? rightByRule;
  return async (question, flywheel) => {
    const version = flywheel.version?.() ?? 0;
    const pool: EvolvedTrajectory[] = [];
    const turns: TurnReport[] = [];
    const join = (round: number, attempts: readonly Attempt[]): void => {
      for (const { action, parent, text } of attempts) {
        if (text === '') continue;
        const prediction = extractAnswer(withEmptyResults(text), 'rollout')!;
        const correct = isRight(question, text);
        pool.push({ text, prediction, correct, round, parent, action, version });
      }
      const dropped = attempts.filter(({ text }) => text === '');
      turns.push({ round, parent: -1, branch: 'incorrect', dropped });
    };
    const turn = (round: number, place: number, as?: (text: string) => string): Turn => ({
      label: label(round, place),
      options: flywheel,
      question: as === undefined ? question : { ...question, question: as(question.question) },
    });
    const first = await together([
      ...times(direct, (i) =>
        attempt('direct', null, flywheel, () => answerDirectly(turn(0, i, ask.direct))),
      ),
      ...times(tools, (i) =>
        attempt('tools', null, flywheel, () =>
          grow(turn(0, i, ask.tools), 'tools', begin?.(question, i) || undefined),
        ),
      ),
    ]);
    join(0, first);
    if (hints !== null) {
      const chains = pool.flatMap(({ action, text }, i) =>
        action === 'direct' ? [{ text, i }] : [],
      );
      const children = chains.flatMap(({ text, i }, place) =>
        hinted(turn(1, place, ask.tools), text, hints).map(({ action, start }) =>
          attempt(action, i, flywheel, () => grow(turn(1, place, ask.tools), action, start)),
        ),
      );
      join(1, await together(children));
    }
    const failure = pool.length === 0 ? (first[0]?.why ?? '') || 'no model answered' : null;
    return { pool, turns, failure };
  };
}

/**
 * Right in mathematics: an equivalent form; for knowledge: the same text except for case, articles and
 * punctuation. Results do not count as answers.
 */
export function rightByRule(question: Question, text: string): boolean {
  return correctness(question, withEmptyResults(text)).raw >= RIGHT_FROM;
}

async function attempt(
  action: string,
  parent: number | null,
  options: FlywheelOptions,
  make: () => Promise<string>,
): Promise<Attempt> {
  try {
    return { action, parent, text: await make(), why: '' };
  } catch (error) {
    return { action, parent, text: '', why: reasonOf(error, options) };
  }
}

/** A chain without tools. */
async function answerDirectly(turn: Turn): Promise<string> {
  const tools = Object.keys(turn.options.quotas);
  const none = Object.fromEntries(tools.map((tool) => [tool, 0]));
  const bare = { ...turn, options: { ...turn.options, quotas: none, extraQuotas: none } };
  const text = await grow(bare, 'direct');
  const call = firstCall(text, tools);
  if (call < 0) return text;
  const thought = stripEnd(text.slice(0, call));
  const closed = thought.endsWith('</think>') ? thought : `${thought}</think>`;
  return grow(bare, 'direct', `${closed}<answer>\\boxed{`);
}

/** Where the chain continues, for each sort of hint with a place in it. */
function hinted(
  { label: turn, question, options }: Turn,
  chain: string,
  { verify, reflect, uncertain }: ColdStartHints,
): { readonly action: string; readonly start: string }[] {
  const tools = Object.keys(options.quotas);
  const hint = (action: string, lists: Hints): string => {
    const list = lists[question.ability];
    return list[options.draws.under(turn, action).integer(0, list.length)]!;
  };
  const starts = {
    'verify-hint': verifyFrom(chain, hint('verify-hint', verify), uncertain),
    'reflect-hint': reflectFrom(chain, hint('reflect-hint', reflect), tools),
  };
  return Object.entries(starts).flatMap(([action, start]) =>
    start === null ? [] : [{ action, start }],
  );
}

function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}
