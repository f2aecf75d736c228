/**
 * Several equal model servers behind one `ask`: sticky sessions, retries, back-off, a bound on open
 * requests.
 *
 * A request tries its session's server up to four times, waiting longer each time (and at least as long as
 * `Retry-After` says), then each other server once; the one that answers is the session's from then on. This
 * is the client pool of ET-Agent §3. If none is there and `awayMaxMs` is set, the request goes round until
 * one is, or for that long: a server takes minutes to start.
 */
import { setMaxListeners } from 'node:events';
import {
  Absence,
  type AbsenceOptions,
  MODEL_SERVER,
  serverAddress,
  wholeSeconds,
} from '../../base/http/index.ts';
import {
  draws,
  MillraceError,
  messageOf,
  RateLimit,
  type Report,
  Semaphore,
  type SleepClock,
} from '../../base/index.ts';
import { SessionAffinity } from './affinity.ts';
import { HttpClient, type HttpOptions, type Transient } from './httpClient.ts';

export interface PoolOptions {
  /** Base URLs, with or without `/v1`. */
  readonly urls: readonly string[];
  readonly clock: SleepClock;
  /** Name of the environment variable that holds the API key; none when left out. */
  readonly keyEnv?: string;
  /** Of one attempt (default 120,000). */
  readonly timeoutMs?: number;
  /** Requests under way at once, over all servers (default 64). */
  readonly concurrencyMax?: number;
  /** Limit of requests that wait beyond those (default 4096). */
  readonly waitingMax?: number;
  /** 0 = no limit (default). */
  readonly requestsPerMinute?: number;
  /** Attempts at the session's own server (default 4). */
  readonly triesMax?: number;
  /** Wait after the first failed attempt; doubles each time (default 500). */
  readonly backoffMs?: number;
  /**
   * How long a request waits if no server answers or has capacity (default 0: it fails after its attempts).
   */
  readonly awayMaxMs?: number;
  /** Prints a line for the user while no server answers. */
  readonly report?: Report;
  /** Sends requests; HTTP unless given. */
  readonly exchange?: HttpOptions['exchange'];
  /** The servers' name in lines; `a model server` if left out. */
  readonly words?: PoolWords;
}

/** As in `Absence`; `others` = the line if one of several does not answer. */
export type PoolWords = Pick<AbsenceOptions, 'one' | 'silent' | 'after'> & {
  readonly others: string;
};

export interface PoolRequest<T> {
  readonly path: string;
  readonly body: unknown;
  /** Requests of one session go to one server. */
  readonly session: string;
  /** Reads the reply; if it throws, the attempt has failed. */
  readonly read: (body: unknown) => T;
}

export type PoolResult<T> =
  /** From the server at this index in `urls`. */
  | { readonly kind: 'answer'; readonly value: T; readonly server: number }
  /** The request itself was refused. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Every attempt failed; `away` = no server answered, or had capacity. */
  | {
      readonly kind: 'down';
      readonly reason: string;
      readonly away: boolean;
      /** How long it asked to be left alone, if it did. */
      readonly retryAfterMs: number | null;
    };

/** How to try a request to one server. */
export interface AskOptions {
  /** Waits for servers that do not answer (`awayMaxMs`). */
  readonly patient?: boolean;
  /** Attempts, if it is not waited for (default `triesMax`). */
  readonly triesMax?: number;
  /** Send the request even though the pool is closing. */
  readonly last?: boolean;
  /** Reads the reply, which is JSON then; what it throws makes the try a failed one. */
  readonly read?: (body: unknown) => unknown;
}

const busy = (waiting: number): MillraceError =>
  new MillraceError(
    'MODEL_BUSY',
    `${waiting} requests are already waiting for a model server: send fewer at a time, or raise waitingMax`,
  );

const WORDS: PoolWords = {
  one: 'a model server',
  silent: 'no model server has answered',
  after: 'waiting requests fail',
  others: 'the other servers take its requests until it does',
};

/** A server that asks for a longer pause than this is left for another. */
const RETRY_AFTER_MAX_MS = 60_000;
/** Between rounds, while no server answers. */
const ROUND_PAUSE_MAX_MS = 10_000;

export class ServerPool {
  readonly urls: readonly string[];
  readonly #options: PoolOptions;
  readonly #http: HttpClient;
  readonly #places: Semaphore;
  readonly #rate: RateLimit;
  readonly #affinity: SessionAffinity;
  readonly #tries: number;
  readonly #absence: Absence;
  readonly #report: Report;
  /** Of several servers, the unavailable ones, and since when. */
  readonly #away = new Map<number, number>();
  readonly #closing = new AbortController();

  constructor(options: PoolOptions) {
    const { clock, concurrencyMax = 64, timeoutMs = 120_000, keyEnv = '' } = options;
    this.urls = addresses(options.urls);
    this.#options = options;
    this.#report = options.report ?? (() => undefined);
    this.#tries = options.triesMax ?? 4;
    this.#http = new HttpClient({
      ...{ clock, timeoutMs, keyEnv, connectionsMax: concurrencyMax },
      ...(options.exchange === undefined ? {} : { exchange: options.exchange }),
    });
    this.#places = new Semaphore(concurrencyMax, {
      waitingMax: options.waitingMax ?? 4096,
      refused: busy,
    });
    this.#rate = new RateLimit(options.requestsPerMinute ?? 0, clock);
    this.#affinity = new SessionAffinity(this.urls.length);
    this.#absence = new Absence({
      clock,
      maxMs: options.awayMaxMs ?? 0,
      ...(options.words ?? WORDS),
      server: this.urls.length === 1 ? this.urls[0]! : null,
      report: this.#report,
    });
  }

  /** Rejects with the signal's reason, or with `MODEL_ACCESS`, `MODEL_BUSY`, `MODEL_CLOSED`. */
  ask<T>(request: PoolRequest<T>, signal?: AbortSignal): Promise<PoolResult<T>> {
    return this.#linked(signal, (linked) =>
      this.#places.run(() => this.#tryAll(request, linked), linked),
    );
  }

  /** A request to one server alone; posts `body` if there is one. Its reply may be plain text. */
  askServer(
    server: number,
    path: string,
    body?: unknown,
    { patient = false, triesMax = this.#tries, last = false, read }: AskOptions = {},
  ): Promise<PoolResult<unknown>> {
    const asItIs = (reply: unknown) => reply;
    const request = { path, body, session: this.urls[server]!, read: read ?? asItIs };
    const plain = read === undefined;
    const ask = (linked: AbortSignal) => {
      const round = () => this.#tryOne(request, server, triesMax, linked, plain);
      return patient ? this.#rounds(request, linked, round) : round();
    };
    return last ? ask(new AbortController().signal) : this.#linked(undefined, ask);
  }

  /** Requests under way reject with code `MODEL_CLOSED`, as do all later ones except final ones. */
  abort(): void {
    this.#closing.abort(
      new MillraceError('MODEL_CLOSED', 'the model’s client was closed before the request ended'),
    );
  }

  /** Requests under way reject with code `MODEL_CLOSED`. */
  async close(): Promise<void> {
    this.abort();
    this.#http.close();
  }

  #tryAll<T>(request: PoolRequest<T>, signal: AbortSignal): Promise<PoolResult<T>> {
    return this.#rounds(request, signal, async (round) => {
      const reasons: string[] = [];
      let away = true;
      let retryAfterMs: number | null = null;
      for (const [rank, server] of this.#affinity.order(request.session).entries()) {
        const tries = rank === 0 && round === 1 ? this.#tries : 1;
        const result = await this.#tryOne(request, server, tries, signal);
        if (result.kind === 'answer') this.#affinity.bind(request.session, server);
        if (result.kind !== 'down') return result;
        reasons.push(`${this.urls[server]}: ${result.reason}`);
        away &&= result.away;
        const asked = result.retryAfterMs ?? 0;
        retryAfterMs = Math.min(retryAfterMs ?? asked, asked);
      }
      return { kind: 'down', reason: reasons.join('; '), away, retryAfterMs };
    });
  }

  /** Tries the servers in turn while none answers, for as long as allowed; starts at once. */
  async #rounds<T>(
    { path, session }: Pick<PoolRequest<T>, 'path' | 'session'>,
    signal: AbortSignal,
    tryAll: (round: number) => Promise<PoolResult<T>>,
  ): Promise<PoolResult<T>> {
    const { clock, awayMaxMs = 0 } = this.#options;
    let untilMs: number | null = null;
    for (let round = 1; ; round++) {
      const startedMs = clock.now();
      const result = await tryAll(round);
      if (result.kind !== 'down' || !result.away) {
        this.#absence.ended();
        return result;
      }
      untilMs ??= startedMs + awayMaxMs;
      const backoff = Math.min(this.#backoff(session, round + 2), ROUND_PAUSE_MAX_MS);
      const pause = Math.max(backoff, result.retryAfterMs ?? 0);
      if (clock.now() + pause > untilMs) return result;
      this.#absence.goesOn(path, result.reason);
      await clock.sleep(pause, signal);
    }
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
      if (outcome.kind === 'refused') {
        this.#there(server);
        return outcome;
      }
      const result = outcome.kind === 'reply' ? readSafely(outcome.body, read) : outcome;
      if (result.kind === 'answer' || !result.away) this.#there(server);
      if (result.kind === 'answer') return { ...result, server };
      const pause = Math.max(this.#backoff(request.session, attempt), result.retryAfterMs ?? 0);
      if (attempt >= tries || pause > RETRY_AFTER_MAX_MS) {
        if (result.away) this.#gone(server, result.reason);
        return { ...result, kind: 'down' };
      }
      await this.#options.clock.sleep(pause, signal);
    }
  }

  /** One of several servers does not answer. If the only one, or none, does, `Absence` says so. */
  #gone(server: number, reason: string): void {
    if (this.urls.length === 1 || this.#away.has(server)) return;
    this.#away.set(server, this.#options.clock.now());
    const url = this.urls[server]!;
    const { others } = this.#options.words ?? WORDS;
    const line = `${url} does not answer (${reason}); ${others}`;
    this.#report(line, { state: 'away', server: url, reason, forMs: 0 });
  }

  #there(server: number): void {
    const sinceMs = this.#away.get(server);
    if (sinceMs === undefined) return;
    this.#away.delete(server);
    const url = this.urls[server]!;
    const forMs = this.#options.clock.now() - sinceMs;
    const line = `${url} answers again, after ${wholeSeconds(forMs)} s`;
    this.#report(line, { state: 'back', server: url, reason: '', forMs });
  }

  /**
   * Doubles each time; half of it is random, so that requests that failed together do not return together.
   */
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
      // Many requests may listen to a run's one signal; Node would take that for a leak.
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
): { readonly kind: 'answer'; readonly value: T } | Transient {
  try {
    return { kind: 'answer', value: read(body) };
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    return { kind: 'transient', reason: messageOf(error), retryAfterMs: null, away: false };
  }
}

/** Fails with code `USAGE` if there are none, or if one is not a plain address. */
function addresses(urls: readonly string[]): string[] {
  if (urls.length === 0) throw new MillraceError('USAGE', 'no model server is named: give its URL');
  return urls.map((url) => serverAddress(url, MODEL_SERVER));
}
