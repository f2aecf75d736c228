/**
 * Several equal model servers behind one `ask`: sticky sessions, tries, back-off, a bound on what is under way.
 *
 * A request tries its session's server up to four times, waiting longer each time (and at least as long as
 * `Retry-After` says), then each other server once; the one that answers is the session's from then on. This is the
 * client pool of ET-Agent §3.
 */
import { setMaxListeners } from 'node:events';
import { draws } from '../../base/draws.ts';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { Semaphore } from '../../base/semaphore.ts';
import type { SleepClock } from '../../base/sleepClock.ts';
import { SessionAffinity } from './affinity.ts';
import { HttpClient } from './httpClient.ts';
import { RateLimit } from './rateLimit.ts';
import { baseUrls } from './urls.ts';

export interface PoolOptions {
  /** Base URLs, with or without `/v1`. */
  readonly urls: readonly string[];
  readonly clock: SleepClock;
  /** Name of the environment variable that holds the API key; none when left out. */
  readonly keyEnv?: string;
  /** For one try (default 120,000). */
  readonly timeoutMs?: number;
  /** Requests under way at once, over all servers (default 64). */
  readonly concurrencyMax?: number;
  /** Requests that may wait beyond those (default 4096). */
  readonly waitingMax?: number;
  /** 0 = no limit (default). */
  readonly requestsPerMinute?: number;
  /** Tries at the session's own server (default 4). */
  readonly triesMax?: number;
  /** Wait after the first failed try; doubles each time (default 500). */
  readonly backoffMs?: number;
}

export interface PoolRequest<T> {
  readonly path: string;
  readonly body: unknown;
  /** Requests of one session go to one server. */
  readonly session: string;
  /** Reads the reply; what it throws makes the try a failed one. */
  readonly read: (body: unknown) => T;
}

export type PoolResult<T> =
  | { readonly kind: 'answer'; readonly value: T }
  /** The request itself was refused. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Every try failed. */
  | { readonly kind: 'down'; readonly reason: string };

const busy = (waiting: number): MillraceError =>
  new MillraceError(
    'MODEL_BUSY',
    `${waiting} requests are waiting for a model server already: send fewer at a time, or raise waitingMax`,
  );

/** A server that asks for a longer pause than this is left for another. */
const RETRY_AFTER_MAX_MS = 60_000;

export class ServerPool {
  readonly urls: readonly string[];
  readonly #options: PoolOptions;
  readonly #http: HttpClient;
  readonly #places: Semaphore;
  readonly #rate: RateLimit;
  readonly #affinity: SessionAffinity;
  readonly #tries: number;
  readonly #closing = new AbortController();

  constructor(options: PoolOptions) {
    const { clock, concurrencyMax = 64, timeoutMs = 120_000, keyEnv = '' } = options;
    this.urls = baseUrls(options.urls);
    this.#options = options;
    this.#tries = options.triesMax ?? 4;
    this.#http = new HttpClient({ clock, timeoutMs, keyEnv, connectionsMax: concurrencyMax });
    this.#places = new Semaphore(concurrencyMax, {
      waitingMax: options.waitingMax ?? 4096,
      refused: busy,
    });
    this.#rate = new RateLimit(options.requestsPerMinute ?? 0, clock);
    this.#affinity = new SessionAffinity(this.urls.length);
  }

  /** Rejects with the signal's reason, or with `MODEL_ACCESS`, `MODEL_BUSY`, `MODEL_CLOSED`. */
  ask<T>(request: PoolRequest<T>, signal?: AbortSignal): Promise<PoolResult<T>> {
    return this.#linked(signal, (linked) =>
      this.#places.run(() => this.#tryAll(request, linked), linked),
    );
  }

  /** A request to one server alone, tried as often; posts `body` if there is one. Its reply may be plain text. */
  askServer(server: number, path: string, body?: unknown): Promise<PoolResult<unknown>> {
    const request = { path, body, session: this.urls[server]!, read: (reply: unknown) => reply };
    return this.#linked(undefined, (linked) =>
      this.#tryOne(request, server, this.#tries, linked, true),
    );
  }

  /** Requests under way reject with code `MODEL_CLOSED`. */
  async close(): Promise<void> {
    this.#closing.abort(
      new MillraceError('MODEL_CLOSED', 'the model’s client was closed before the request ended'),
    );
    this.#http.close();
  }

  async #tryAll<T>(request: PoolRequest<T>, signal: AbortSignal): Promise<PoolResult<T>> {
    const reasons: string[] = [];
    for (const [rank, server] of this.#affinity.order(request.session).entries()) {
      const tries = rank === 0 ? this.#tries : 1;
      const result = await this.#tryOne(request, server, tries, signal);
      if (result.kind === 'answer') this.#affinity.bind(request.session, server);
      if (result.kind !== 'down') return result;
      reasons.push(`${this.urls[server]}: ${result.reason}`);
    }
    return { kind: 'down', reason: reasons.join('; ') };
  }

  async #tryOne<T>(
    request: PoolRequest<T>,
    server: number,
    tries: number,
    signal: AbortSignal,
    plain = false,
  ): Promise<PoolResult<T>> {
    const { path, body, read } = request;
    const asked = { url: this.urls[server] + path, body, plain };
    for (let attempt = 1; ; attempt++) {
      await this.#rate.turn(signal);
      const outcome = await this.#http.ask(asked, signal);
      if (outcome.kind === 'refused') return outcome;
      const result = outcome.kind === 'reply' ? readSafely(outcome.body, read) : outcome;
      if (result.kind === 'answer') return result;
      const pause = Math.max(this.#backoff(request.session, attempt), result.retryAfterMs ?? 0);
      if (attempt >= tries || pause > RETRY_AFTER_MAX_MS)
        return { kind: 'down', reason: result.reason };
      await this.#options.clock.sleep(pause, signal);
    }
  }

  /** Doubles each time; half of it is drawn, so that requests that failed together do not return together. */
  #backoff(session: string, attempt: number): number {
    const share = 0.5 + 0.5 * draws('backoff', session).uniform(attempt);
    return (this.#options.backoffMs ?? 500) * 2 ** (attempt - 1) * share;
  }

  async #linked<T>(
    signal: AbortSignal | undefined,
    run: (linked: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const linked = new AbortController();
    const follow = (source: AbortSignal | undefined) => {
      if (source === undefined) return () => undefined;
      const abort = () => linked.abort(source.reason);
      if (source.aborted) abort();
      // Many requests may hang on the one signal of a run; Node would take that for a leak.
      setMaxListeners(0, source);
      source.addEventListener('abort', abort, { once: true });
      return () => source.removeEventListener('abort', abort);
    };
    const leave = [follow(signal), follow(this.#closing.signal)];
    try {
      return await run(linked.signal);
    } finally {
      for (const unfollow of leave) unfollow();
    }
  }
}

function readSafely<T>(
  body: unknown,
  read: (body: unknown) => T,
):
  | { readonly kind: 'answer'; readonly value: T }
  | { readonly kind: 'transient'; readonly reason: string; readonly retryAfterMs: null } {
  try {
    return { kind: 'answer', value: read(body) };
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    return { kind: 'transient', reason: messageOf(error), retryAfterMs: null };
  }
}
