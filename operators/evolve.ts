/**
 * `evolve`: a question in, the pool of trajectories that the flywheel made of it out (ET-Agent §4).
 *
 * The pool begins with what the policy does by itself and grows round by round: a correct trajectory is
 * enhanced, a wrong one reflected upon (evolve/flywheel.ts), by the actions of evolve/actions.ts or by
 * others. Guarantees:
 * - every accepted question gives its whole pool in one commit, its tool calls with it; where all failed,
 *   the pool is one record with action `failed` whose text says why, and what failed on the way is in the
 *   dead letters;
 * - every request and every hint is keyed by (seed, question, phase, round, name), so timing changes nothing;
 * - a question starts only when the policy is of the version that it is due (`gate`), and says which one it
 *   was;
 * - when the run is stopping nothing more is asked: the question is left for the next start (`NOT_NOW`);
 * - a gate that fails ends the stage, and so does a `MillraceError` of a model (it can answer no request): a
 *   question is never lost to a dead letter.
 */
import { setMaxListeners } from 'node:events';
import type { OperatorFunction } from 'rxjs';
import { draws, MillraceError, messageOf } from '../base/index.ts';
import { type Delivery, notNow } from '../streams/deliveries/index.ts';
import { expandEach, type Scope } from '../streams/index.ts';
import {
  type DeadLetter,
  type Evolved,
  type Question,
  topics,
  type Unanswered,
} from '../topics/index.ts';
import type { CallTool } from './callTools.ts';
import { fenceFor } from './dialect/fence.ts';
import type { ResultBlock } from './dialect/resultBlock.ts';
import { countToolCalls } from './dialect/tags.ts';
import type { EvolveAction } from './evolve/action.ts';
import { defaultActions } from './evolve/actions.ts';
import { answersOf } from './evolve/answers.ts';
import type { FlywheelOptions } from './evolve/context.ts';
import { type FlywheelRun, flywheel, type Grow } from './evolve/flywheel.ts';
import type { Hints } from './evolve/hints.ts';
import { byRole, type Complete, type Models } from './evolve/models.ts';
import { loadPrompts, type Prompts } from './evolve/prompts.ts';
import { recordedCalls } from './evolve/recordedCalls.ts';
import { BOUNDED_BY_ADMISSION, type PolicyGate } from './gate.ts';

/** How to grow the pool of a question: models, tools, rounds and limits. */
export interface EvolveOptions {
  /** One function for all roles, or a model for each. */
  readonly models: Complete | Models;
  readonly tools: Pick<CallTool, 'tags' | 'call'>;
  /** Absent: every question is admitted at once, and the policy's version counts as 0. */
  readonly gate?: PolicyGate;
  /** Rounds of evolution after the first trajectories (R; the method has 3). */
  readonly rounds: number;
  /**
   * Limit of calls in a fresh trajectory, for each tool or by tag (a tool that is left out is not called).
   */
  readonly quotas: Quotas;
  /** Added to these limits when a trajectory is continued (default: nothing). */
  readonly extraQuotas?: Quotas;
  /** Makes the pool (default: the flywheel). */
  readonly grow?: Grow;
  /** What to try on a parent (default: the six actions of the method). */
  readonly actions?: readonly EvolveAction[];
  /** Default: those of the package (`loadPrompts()`). */
  readonly prompts?: Prompts;
  readonly hints?: Hints;
  /** How a result appears in the text (default: `<result>…</result>`). */
  readonly resultBlock?: ResultBlock;
  /**
   * Special tokens of the policy's tokenizer, as texts, which no result may contain (default: well-known chat
   * markers only).
   */
  readonly markers?: readonly string[];
  /** First trajectories per question (default 1, as published; the paper samples several). */
  readonly initial?: number;
  /** Limit of parents per round, best first (default 1, as published; the paper evolves the whole pool). */
  readonly parents?: number;
  /** `reference` keeps the defects of the published flywheel (docs/flywheel.md). Default `repaired`. */
  readonly mode?: 'repaired' | 'reference';
  /** The requests of a question that got no answer in the replayed run; left out = not a replay. */
  readonly recorded?: ((question: Question) => readonly Unanswered[]) | undefined;
  readonly seed: number;
  /**
   * Questions evolved at once, not counting those that wait for their version; each makes up to `parents`
   * times the actions requests at once.
   */
  readonly concurrency: number;
}

/** One number for every tool of the job, or a number by tag. */
export type Quotas = number | Readonly<Record<string, number>>;

type Ready = EvolveOptions &
  Pick<FlywheelOptions, 'actions' | 'fence' | 'quotas' | 'extraQuotas' | 'prompts'>;

const RESERVED = ['initial', 'failed'];

/** questions → evolved (the whole pool of each), with their tool calls with them. */
export function evolve(
  options: EvolveOptions,
): OperatorFunction<Delivery<Question>, Delivery<Evolved>> {
  const { actions = defaultActions, prompts = loadPrompts() } = options;
  const { tags } = options.tools;
  const fence = fenceFor({ tools: tags, markers: options.markers ?? [] });
  const quotas = byTag(options.quotas, tags);
  const extraQuotas = byTag(options.extraQuotas ?? 0, tags);
  const ready = { ...options, actions, fence, quotas, extraQuotas, prompts };
  checkActions(actions);
  const admission = options.gate?.admission(options.concurrency);
  const concurrency = admission === undefined ? options.concurrency : BOUNDED_BY_ADMISSION;
  return expandEach(
    async (question, scope) => {
      setMaxListeners(0, scope.signal);
      const release = (await admission?.admit(question, scope)) ?? (() => undefined);
      try {
        return await pool(question, ready, scope);
      } finally {
        release();
      }
    },
    { concurrency, onError: 'fail' },
  );
}

/** Every tool of the job has a quota, in the order of the tools. */
function byTag(quotas: Quotas, tags: readonly string[]): Readonly<Record<string, number>> {
  if (typeof quotas === 'number') return Object.fromEntries(tags.map((tag) => [tag, quotas]));
  const stray = Object.keys(quotas).find((tag) => !tags.includes(tag));
  if (stray !== undefined) {
    throw new MillraceError(
      'QUOTAS',
      `a quota names ${stray}, but the job has no such tool: its tools are ${tags.join(', ')}`,
      { context: { name: stray } },
    );
  }
  return Object.fromEntries(tags.map((tag) => [tag, quotas[tag] ?? 0]));
}

/** Two actions of one name would share their draws. */
function checkActions(actions: readonly EvolveAction[]): void {
  const names = actions.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i || RESERVED.includes(name));
  if (twice === undefined) return;
  throw new MillraceError(
    'ACTIONS',
    `an evolve action cannot be named ${twice}: ${RESERVED.includes(twice) ? 'the flywheel uses that name' : 'another action has that name'}; rename it`,
    { context: { name: twice } },
  );
}

/**
 * Evolves one question. Rejects if the result is no longer wanted, or if a model cannot answer any request.
 */
async function pool(question: Question, options: Ready, scope: Scope): Promise<Evolved[]> {
  const { models, tools, gate, mode, grow = flywheel } = options;
  const { signal, stopping } = scope;
  const key = [options.seed, question.id, question.phase, question.round];
  const calls = recordedCalls(question, { tools, signal, asGiven: mode === 'reference' });
  const asked = typeof models === 'function' ? models : byRole(models);
  const answers = answersOf(asked, options.recorded?.(question));
  const version = () => gate?.version ?? 0;
  const run = await grow(question, {
    ...options,
    key,
    draws: draws(...key),
    signal,
    version,
    run: calls.run,
    complete: async (request, aborted) => {
      aborted.throwIfAborted();
      if (stopping.aborted) throw notNow(`question ${question.id} was evolved`);
      return answers.complete(request, aborted);
    },
  }).catch((error: unknown): FlywheelRun => {
    if (signal.aborted || error instanceof MillraceError) throw error;
    return { pool: [], turns: [], failure: messageOf(error) };
  });
  for (const call of calls.inOrder()) scope.also(topics.toolCalls, call);
  for (const letter of failures(question, run, scope)) scope.also(topics.deadLetters, letter);
  const all = records(question, run, Object.keys(options.quotas), version());
  return all.map((one, i) => ({ ...one, unanswered: i === 0 ? answers.unanswered() : [] }));
}

function records(
  question: Question,
  { pool, failure }: FlywheelRun,
  tools: readonly string[],
  version: number,
): Evolved[] {
  if (pool.length === 0) {
    const text = failure ?? 'there was nothing to evolve';
    const none = { round: 0, parent: -1, correct: false, toolCalls: 0, index: 0, of: 1 };
    return [{ question, action: 'failed', text, version, ...none }];
  }
  return pool.map(({ text, round, parent, action, correct, version }, index) => ({
    question,
    round,
    parent: parent ?? -1,
    action,
    correct,
    text,
    version,
    toolCalls: countToolCalls(text, tools),
    index,
    of: pool.length,
  }));
}

/** What failed on the way, with the trajectory that it was to become. */
function failures({ id }: Question, run: FlywheelRun, { topic, position }: Scope): DeadLetter[] {
  const letter = (field: string, reason: string): DeadLetter => ({
    origin: topic,
    place: position.offset,
    key: id,
    payload: '',
    field,
    reason,
  });
  const dropped = run.turns.flatMap(({ round, dropped }) =>
    dropped
      .filter(({ why }) => why !== '')
      .map(({ action, why }) => letter(`${round}/${action}`, why)),
  );
  return run.failure === null ? dropped : [...dropped, letter('flywheel', run.failure)];
}
