/**
 * A model that completes text: what the roles of the flywheel, judges and summarisers are used through.
 *
 * Any engine can be behind it: the job's own policy (`enginePolicy`), a server (`openAi`), a script
 * (`scripted`). All of them guarantee:
 * - the text ends at `maxTokens`, at the model's own end, or right after the first of the `stop` strings,
 *   which is kept;
 * - null means that there is no text for this request and that the caller may go on without: a server gave
 *   up after its tries or refused the request, or the context leaves no room. What would fail every request
 *   is an error;
 * - the same request draws the same, even in a resumed run.
 *
 * A role of the flywheel (`Complete` of operators/evolve/models.ts) or of a jury (`AskModel` of
 * operators/metrics/graders/jury.ts) is made of it in one line:
 *
 *     const critic: Complete = (request, signal) => model.complete({ ...sampling, ...request }, signal);
 */
import type { DrawKey } from '../../base/index.ts';
import type { Sampling } from '../sampling.ts';

/** How to draw a text, and its greatest length in tokens. */
export interface TextSampling extends Sampling {
  /** Limit of tokens to generate. */
  readonly maxTokens: number;
}

/** A picture in a request. */
export interface TextImage {
  /** Its media type: `image/png`. */
  readonly type: string;
  readonly base64: string;
}

/** One text to complete: `system` and `prompt` as chat messages, then the beginning of the reply. */
export interface TextRequest extends TextSampling {
  /**
   * Names the stream of draws, the run's seed first. Pieces of one text may share it: they differ in
   * `continuation`.
   */
  readonly draws: readonly DrawKey[];
  /**
   * Requests of one session go to one server (its prefix cache); by default those of one system text and
   * prompt.
   */
  readonly session?: string;
  readonly system?: string;
  readonly prompt: string;
  /** Shown after the prompt, to a server whose `api` is `chat`; no other model sees them. */
  readonly images?: readonly TextImage[];
  /** What already follows the generation prompt; nothing if left out. */
  readonly continuation?: string;
  /** Generation ends right after the first of these. */
  readonly stop?: readonly string[];
}

/** Completes text, or returns null if it cannot. Close it when done. */
export interface TextModel {
  /** Rejects with the signal's reason when it aborts. */
  complete(request: TextRequest, signal?: AbortSignal): Promise<string | null>;
  close(): Promise<void>;
}

/** The text up to and including the first stop string in it. */
export function cutAfterStop(text: string, stop: readonly string[] = []): string {
  const ends = stop
    .map((each) => ({ at: text.indexOf(each), length: each.length }))
    .filter(({ at }) => at >= 0);
  if (ends.length === 0) return text;
  return text.slice(0, Math.min(...ends.map(({ at, length }) => at + length)));
}
