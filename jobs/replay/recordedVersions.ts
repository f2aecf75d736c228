/**
 * Which policy version made which tokens of a recorded run, so that a replay can hold every generation to the
 * version that it was made with. Read from the spans of the rollouts; a few numbers a rollout are held in
 * memory.
 */
import type { DrawKey } from '../../base/index.ts';
import type { GenerateRequest } from '../../model/index.ts';
import {
  contextsOf,
  type ModelCallRecord,
  type Phase,
  type Rollout,
  rolloutId,
} from '../../topics/index.ts';

interface Spans {
  /** Response tokens at which each policy span begins. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly versions: readonly number[];
  /**
   * Where its contexts begin (later ones after a fold): response tokens before it, and tokens of its prompt.
   */
  readonly contexts: readonly { readonly at: number; readonly prompt: number }[];
  /** Why it failed; null if it did not. */
  readonly failure: string | null;
}

/**
 * A version, and how many tokens it made where another one went on after them in the same generation; or why
 * the generation failed then.
 */
export type RecordedGeneration =
  | { readonly version: number; readonly tokens?: number }
  | { readonly failure: string };

export class RecordedVersions {
  readonly #rollouts = new Map<string, Spans>();
  readonly #calls = new Map<string, Pick<ModelCallRecord, 'spans' | 'promptTokens'>>();

  add(rollout: Rollout): void {
    const { id, segments, status, reason } = rollout;
    const spans = segments.filter(({ kind }) => kind === 'policy');
    this.#rollouts.set(id, {
      starts: spans.map(({ start }) => start),
      ends: spans.map(({ end }) => end),
      versions: spans.map(({ version }) => version),
      contexts: contextsOf(rollout).map(({ at, prompt }) => ({ at, prompt: prompt.length })),
      failure: status === 'failed' ? reason : null,
    });
  }

  /** A call of an agent. */
  addCall({ sessionId, digest, spans, promptTokens }: ModelCallRecord): void {
    this.#calls.set(callKey(sessionId, digest), { spans, promptTokens });
  }

  /** Why the rollout with this id failed; null if it did not, or is unknown. */
  failureOf(rolloutId: string): string | null {
    return this.#rollouts.get(rolloutId)?.failure ?? null;
  }

  /** How the generation for this request went; null if the record does not say. */
  of(request: GenerateRequest): RecordedGeneration | null {
    return request.draws[5] === 'call' ? this.#ofCall(request) : this.#ofRollout(request);
  }

  #ofCall({ draws, tokens }: GenerateRequest): RecordedGeneration | null {
    const call = this.#calls.get(callKey(rolloutOf(draws), String(draws[6])));
    if (call === undefined) return null;
    const { spans, promptTokens } = call;
    const place = spans.findIndex(({ start }) => start === tokens.length - promptTokens);
    const span = spans[place];
    if (span === undefined) return null;
    const { version, start, end } = span;
    return place < spans.length - 1 ? { version, tokens: end - start } : { version };
  }

  #ofRollout({ draws, tokens }: GenerateRequest): RecordedGeneration | null {
    const spans = this.#rollouts.get(rolloutOf(draws));
    if (spans === undefined) return null;
    if (isMonitor(draws)) return { version: spans.versions[0] ?? 0 };
    const round = spans.contexts[roundOf(draws)] ?? spans.contexts[0]!;
    const begun = spans.starts.indexOf(round.at + tokens.length - round.prompt);
    if (begun >= 0) return madeBy(spans, begun);
    if (spans.failure !== null) return { failure: spans.failure };
    const last = spans.versions.at(-1);
    return last === undefined ? null : { version: last };
  }
}

function callKey(sessionId: string, digest: string): string {
  return `${sessionId}#${digest}`;
}

/** Policy spans that touch belong to one generation: between two generations a tool writes. */
function madeBy({ starts, ends, versions }: Spans, place: number): RecordedGeneration {
  const version = versions[place]!;
  const end = ends[place]!;
  return starts[place + 1] === end ? { version, tokens: end - starts[place]! } : { version };
}

/**
 * Draws of a rollout are keyed by (seed, question, phase, round, index), those of a monitored one by a name
 * before its index, those after a fold by the number of the round after it, and those of an agent's call by
 * `call` and the digest of its request.
 */
function rolloutOf(draws: readonly DrawKey[]): string {
  const [, id, phase, round, index] = draws as readonly [DrawKey, string, Phase, number, DrawKey];
  return rolloutId({ id, phase, round }, isMonitor(draws) ? 0 : index);
}

function isMonitor(draws: readonly DrawKey[]): boolean {
  return draws.length > 5 && typeof draws[4] === 'string';
}

function roundOf(draws: readonly DrawKey[]): number {
  return isMonitor(draws) ? 0 : Number(draws[5] ?? 0);
}
