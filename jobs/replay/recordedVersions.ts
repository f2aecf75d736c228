/**
 * Which policy version made which tokens of a recorded run, so that a replay can hold every generation to the
 * version that it was made with. Read from the spans of the rollouts; a few numbers a rollout are held in
 * memory.
 */
import type { DrawKey } from '../../base/index.ts';
import type { GenerateRequest } from '../../model/index.ts';
import { type Phase, type Rollout, rolloutId } from '../../topics/index.ts';

interface Spans {
  /** Tokens of the prompt, and response tokens at which each policy span begins. */
  readonly prompt: number;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly versions: readonly number[];
  /** Where later contexts begin, after a fold: response tokens before it, and tokens of its own prompt. */
  readonly folds: readonly { readonly at: number; readonly prompt: number }[];
  /** Why it failed; null when it did not. */
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

  add({ id, prompt, segments, status, reason, episode }: Rollout): void {
    const spans = segments.filter(({ kind }) => kind === 'policy');
    this.#rollouts.set(id, {
      prompt: prompt.length,
      starts: spans.map(({ start }) => start),
      ends: spans.map(({ end }) => end),
      versions: spans.map(({ version }) => version),
      folds: (episode?.folds ?? []).map((fold) => ({ at: fold.at, prompt: fold.prompt.length })),
      failure: status === 'failed' ? reason : null,
    });
  }

  /** Why the rollout of this id failed; null if it did not, or is not known. */
  failureOf(rolloutId: string): string | null {
    return this.#rollouts.get(rolloutId)?.failure ?? null;
  }

  /** How the generation that this request asks for went; null if the record does not say. */
  of({ draws, tokens }: GenerateRequest): RecordedGeneration | null {
    const spans = this.#rollouts.get(rolloutOf(draws));
    if (spans === undefined) return null;
    if (isMonitor(draws)) return { version: spans.versions[0] ?? 0 };
    const round = spans.folds[roundOf(draws) - 1] ?? { at: 0, prompt: spans.prompt };
    const begun = spans.starts.indexOf(round.at + tokens.length - round.prompt);
    if (begun >= 0) return madeBy(spans, begun);
    if (spans.failure !== null) return { failure: spans.failure };
    const last = spans.versions.at(-1);
    return last === undefined ? null : { version: last };
  }
}

/** Policy spans that touch are of one generation: between two of them a tool writes. */
function madeBy({ starts, ends, versions }: Spans, place: number): RecordedGeneration {
  const version = versions[place]!;
  const end = ends[place]!;
  return starts[place + 1] === end ? { version, tokens: end - starts[place]! } : { version };
}

/**
 * Draws of a rollout are keyed by (seed, question, phase, round, index), those of a monitored one by a name
 * before its index, and those after a fold by the number of the round after it.
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
