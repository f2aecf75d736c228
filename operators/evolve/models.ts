/**
 * The models of the flywheel, as one function that completes a text.
 *
 * Three roles (ET-Agent §4.1): the policy rolls trajectories out, the analyst explains and rewrites single
 * steps, the critic finds faults, refines and judges. They may be one model. Whatever completes text fits: an
 * engine with its chat template, a server, a scripted function.
 */
import type { DrawKey } from '../../base/index.ts';
import { strip } from '../text/characters.ts';

/**
 * Who is asked: M1 rolls out, M2 analyses and rewrites steps, M3 locates, refines and judges (ET-Agent §4).
 */
export type Role = 'policy' | 'analyst' | 'critic';

/** What a role of the flywheel is asked. */
export interface CompletionRequest {
  readonly role: Role;
  /**
   * Names the request within its question: `<round>/<purpose>` (`1/locate`) or `judge/<index in the pool>`.
   */
  readonly name: string;
  /**
   * Keys of its draws: seed, question, phase, round, name, attempt. The calls that grow one trajectory share
   * them and differ in `continuation`, so tie a draw to its place in the context (as `GenerateRequest.draws`
   * does).
   */
  readonly draws: readonly DrawKey[];
  /** What the model is asked: the question itself for the policy, an instruction for the others. */
  readonly prompt: string;
  /** What already follows the generation prompt: the reply continues from here. */
  readonly continuation: string;
  /**
   * The reply may end after the first of these, which is kept; empty = at the model's own end. A model may
   * ignore it.
   */
  readonly stop: readonly string[];
}

/**
 * Completes a text; null if the model gave up, which may be tried again. Rejects when `signal` aborts, and
 * with a `MillraceError` if every request would fail: that ends the run. Whatever else it throws is this
 * question's failure.
 */
export type Complete = (request: CompletionRequest, signal: AbortSignal) => Promise<string | null>;

/** One model per role. */
export type Models = Readonly<Record<Role, Complete>>;

/** The models as one function: each request goes to the model of its role. */
export function byRole(models: Models): Complete {
  return (request, signal) => models[request.role](request, signal);
}

/** Asks once; `attempt` counts from 0 and is part of the draws' key. */
export type Ask = (attempt: number) => Promise<string | null>;

const TRIES = 4;

/** The first answer of up to four attempts; null if all failed. */
export async function withRetry(ask: Ask): Promise<string | null> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const text = await ask(attempt);
    if (text !== null) return text;
  }
  return null;
}

/** A reply as a piece of a trajectory: trimmed, and cut after the first of the closing tags. */
export function asPiece(reply: string, closeTags: readonly string[]): string {
  const text = strip(reply);
  const ends = closeTags
    .map((tag) => ({ tag, at: text.indexOf(tag) }))
    .filter(({ at }) => at >= 0)
    .map(({ tag, at }) => at + tag.length);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}
