/**
 * `heldEngine`: an engine in which every generation is made by the version that made it in the recorded run,
 * whatever the newest version is.
 *
 * A generation that several versions made is made span by span: a draw is tied to its place, so the tokens
 * are the same.
 *
 * Generations of one version run together; when none of it is left, the lowest version that is waited for is
 * loaded. A generation waits for a version that does not exist yet. `load` only says which version a
 * generation is due that the record does not have.
 */
import type { Observable, Subscription } from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import type {
  Checkpoint,
  GenerateRequest,
  Generation,
  PolicyEngine,
  VersionSpan,
} from '../../model/index.ts';
import type { Weights } from '../../topics/index.ts';
import type { RecordedVersions } from './recordedVersions.ts';

export interface HeldEngineOptions {
  readonly versions: RecordedVersions;
  /** Manifests of the replay, from the first on. */
  readonly weights$: Observable<{ readonly value: Weights }>;
  readonly resolve: (weights: Weights) => Checkpoint;
}

/** A generation that waits for its version. There are never more than rollouts in flight. */
interface Waiting {
  readonly version: number;
  readonly go: () => void;
  readonly fail: (error: unknown) => void;
}

export class HeldEngine implements PolicyEngine {
  readonly #live: PolicyEngine;
  readonly #options: HeldEngineOptions;
  readonly #known = new Map<number, Checkpoint>();
  readonly #subscription: Subscription;
  readonly #waiting: Waiting[] = [];
  #failure: unknown = null;
  #current = -1;
  #active = 0;
  #loading = false;
  /** The gate's last request. */
  #due = 0;

  constructor(live: PolicyEngine, options: HeldEngineOptions) {
    this.#live = live;
    this.#options = options;
    this.#subscription = options.weights$.subscribe({
      next: ({ value }) => {
        this.#known.set(value.version, options.resolve(value));
        this.#pump();
      },
      error: (error) => this.#fail(error),
    });
  }

  get contextMax(): number {
    return this.#live.contextMax;
  }

  async generate(request: GenerateRequest, signal?: AbortSignal): Promise<Generation> {
    const made = this.#options.versions.of(request);
    if (made !== null && 'failure' in made) {
      throw new MillraceError('RECORDED_FAILURE', made.failure);
    }
    const version = made?.version ?? this.#due;
    const maxTokens = made?.tokens ?? request.maxTokens;
    if (maxTokens >= request.maxTokens) return this.#by(version, request, signal);
    const first = await this.#by(version, { ...request, maxTokens }, signal);
    if (first.finish === 'stop') return first;
    return joined(first, await this.generate(goingOn(request, first), signal));
  }

  async #by(version: number, request: GenerateRequest, signal?: AbortSignal): Promise<Generation> {
    const done = await this.#turn(version, signal);
    try {
      return await this.#live.generate(request, signal);
    } finally {
      done();
    }
  }

  async load(weights: Checkpoint): Promise<void> {
    this.#due = weights.version;
  }

  stats(): ReturnType<PolicyEngine['stats']> {
    return this.#live.stats();
  }

  /** Stops following the manifests; the engine's owner closes it. */
  release(): void {
    this.#subscription.unsubscribe();
  }

  async close(): Promise<void> {
    this.release();
    await this.#live.close();
  }

  /** Resolves once the version is loaded, with a function that gives the place back. */
  async #turn(version: number, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#failure !== null) throw this.#failure;
    let stop = (): void => undefined;
    const turn = new Promise<void>((resolve, reject) => {
      const waiting: Waiting = { version, go: resolve, fail: reject };
      stop = () => {
        const place = this.#waiting.indexOf(waiting);
        if (place < 0) return;
        this.#waiting.splice(place, 1);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', stop, { once: true });
      this.#waiting.push(waiting);
    });
    this.#pump();
    await turn.finally(() => signal?.removeEventListener('abort', stop));
    return () => {
      this.#active -= 1;
      this.#pump();
    };
  }

  #pump(): void {
    if (this.#loading) return;
    for (const waiting of this.#waiting.filter(({ version }) => version === this.#current)) {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      this.#active += 1;
      waiting.go();
    }
    if (this.#active > 0) return;
    const wanted = this.#waiting.map(({ version }) => version).filter((v) => this.#known.has(v));
    if (wanted.length === 0) return;
    void this.#swap(Math.min(...wanted));
  }

  #fail(error: unknown): void {
    this.#failure = error;
    for (const waiting of this.#waiting.splice(0)) waiting.fail(error);
  }

  async #swap(version: number): Promise<void> {
    this.#loading = true;
    try {
      await this.#live.load(this.#known.get(version)!);
      this.#current = version;
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#loading = false;
    }
    this.#pump();
  }
}

/** The rest of a request once its first tokens exist; a stop text may begin in those. */
function goingOn(request: GenerateRequest, { tokens }: Generation): GenerateRequest {
  const { stopTexts, stopTextsFrom = request.tokens.length } = request;
  return {
    ...request,
    ...(stopTexts === undefined ? {} : { stopTextsFrom }),
    tokens: Int32Array.from([...request.tokens, ...tokens]),
    maxTokens: request.maxTokens - tokens.length,
    topLogProbs: Math.max(0, request.topLogProbs - tokens.length),
  };
}

/** Joins two generations, the second of which continues the first. */
function joined(first: Generation, second: Generation): Generation {
  const { length } = first.tokens;
  const entropies =
    first.entropies === undefined || second.entropies === undefined
      ? {}
      : { entropies: Float32Array.from([...first.entropies, ...second.entropies]) };
  return {
    ...second,
    ...entropies,
    tokens: Int32Array.from([...first.tokens, ...second.tokens]),
    logProbs: Float32Array.from([...first.logProbs, ...second.logProbs]),
    topLogProbs: [...first.topLogProbs, ...second.topLogProbs],
    version: first.version,
    spans: [
      ...spansOf(first),
      ...spansOf(second).map(({ start, end, version }) => ({
        start: start + length,
        end: end + length,
        version,
      })),
    ],
  };
}

function spansOf({ spans, tokens, version }: Generation): readonly VersionSpan[] {
  return spans ?? [{ start: 0, end: tokens.length, version }];
}
