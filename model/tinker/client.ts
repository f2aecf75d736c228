/**
 * Requests to a training service and their results: what is worth retrying is retried until the service has
 * been away for too long; what must not be done twice is never sent twice.
 *
 * Most requests answer with a *future*, which is polled for its result. Services say "not yet"
 * in three ways (status 408, `{"type":"try_again"}`, an answer that is held back) and "failed" in two (status
 * 400 with a detail, status 200 with an `error`); some give a result once and never more.
 */

import {
  Absence,
  answersNaN,
  complainsOfNaN,
  holdsNaN,
  wholeSeconds,
} from '../../base/http/index.ts';
import {
  MillraceError,
  outsideText,
  type Report,
  type SleepClock,
  withoutSecrets,
} from '../../base/index.ts';
import { isPacked } from './packed.ts';
import type { Answer, Ask, Transport } from './transport.ts';

/** What a request does to a model if it is sent a second time. */
export type Repeat =
  /** Nothing. */
  | 'harmless'
  /** It would train again, unless the service recognises a repetition by its number. */
  | 'numbered'
  /** Nothing; and it does not wait for a service that does not answer. */
  | 'once';

/** The service does not support this, however often it is asked. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** The state of the model on the service is unknown: a reply was lost, or the service has lost the model. */
export class StateLost extends Error {}

export interface ClientOptions {
  readonly transport: Transport;
  readonly clock: SleepClock;
  /** How long the service may be unavailable before that is an error. */
  readonly awayMs: number;
  /** Called while the service is unavailable, with since when and why, and when it answers again. */
  readonly print: Report;
}

/** The answer to a request before there is a result. */
export interface Future {
  readonly id: string;
  /** Of the request that made it. */
  readonly route: string;
}

type Away = Extract<Answer, { readonly kind: 'away' }>;

/** The result of a future, unparsed: it may be large. */
export interface Result {
  readonly bytes: Uint8Array;
}

/** A larger result holds numbers, and is not searched here. */
const LOOKED_AT_MAX = 65_536;
const FIRST_PAUSE_MS = 200;
const LAST_PAUSE_MS = 5_000;
/**
 * How many times in a row to poll for a result when the service answers that something went wrong in it: some
 * seconds.
 */
const BROKEN_MAX = 5;
const CANNOT_WRITE =
  'it answers but cannot serialise this result, which happens when its numbers have become NaN: see its log';
const ENDS = 'the run ends and can be started again';
const MODEL_GONE = /not loaded|model .*not found|unknown model|no such model|unloaded/i;
const GIVEN_BEFORE = /already (been )?retrieved/i;

export class Client {
  /** Whether the service recognises a repeated request by its number; tested at the start (probe.ts). */
  deduplicates = false;
  readonly #options: ClientOptions;
  /** Of the service, whichever request finds it away. */
  readonly #absence: Absence;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { clock, awayMs: maxMs, print: report, transport } = options;
    const one = `training service ${transport.url}`;
    const silent = `${one} has not answered`;
    const server = transport.url;
    this.#absence = new Absence({ clock, maxMs, one, silent, after: ENDS, server, report });
  }

  get url(): string {
    return this.#options.transport.url;
  }

  /**
   * The reply, parsed. Rejects with `Refused`, `StateLost`, or one of ours: `TRAINER_DOWN`, `TRAINER_ACCESS`.
   */
  async call(ask: Ask, repeat: Repeat = 'harmless'): Promise<Readonly<Record<string, unknown>>> {
    return this.#parsed(ask.route, await this.bytes(ask, repeat));
  }

  async bytes(ask: Ask, repeat: Repeat = 'harmless'): Promise<Uint8Array> {
    const patience = this.#patience(ask.route);
    for (;;) {
      const answer = await this.#ask(ask);
      if (answer.kind !== 'away') patience.ends();
      if (answer.kind === 'reply') return answer.bytes;
      if (answer.kind === 'status') throw this.#refused(answer.status, answer.detail);
      this.#checkNaN(ask.route, answer);
      if (answer.arrived && repeat === 'numbered' && !this.deduplicates) {
        throw new StateLost(`the reply to ${ask.route} was lost (${answer.reason})`);
      }
      if (repeat === 'once') throw new StateLost(answer.reason);
      await patience.wait(answer.reason);
    }
  }

  async submit(ask: Ask, repeat: Repeat = 'harmless'): Promise<Future> {
    const { request_id: id, future_id: other } = await this.call(ask, repeat);
    const found = id ?? other;
    const { route } = ask;
    if (typeof found === 'string' || typeof found === 'number') return { id: String(found), route };
    throw new MillraceError(
      'TRAINER_REPLY',
      `${this.url}: the reply to ${route} has no request_id`,
    );
  }

  /**
   * Waits for the result of a future. Rejects as `call` does; a failed future is a `Refused` of status 400.
   */
  async result({ id, route }: Future, repeat: Repeat = 'harmless'): Promise<Result> {
    const patience = this.#patience(`${route} (its result)`);
    const pauses = new Pauses(this.#options.clock);
    let broken = 0;
    for (;;) {
      const answer = await this.#ask({ route: 'retrieve_future', body: { request_id: id } });
      if (answer.kind === 'away') {
        this.#checkNaN(route, answer);
        broken = answer.status === 500 ? broken + 1 : 0;
        // a result that the service cannot write (numbers that are not JSON) stays so
        if (broken === BROKEN_MAX) throw new Refused(500, `${answer.reason}; ${CANNOT_WRITE}`);
        if (repeat === 'once') throw new StateLost(answer.reason);
        if (broken > 0) await pauses.broken(broken);
        else await patience.wait(answer.reason);
        continue;
      }
      patience.ends();
      if (answer.kind === 'status') {
        if (answer.status === 408) continue;
        throw this.#failed(answer.status, answer.detail);
      }
      const { bytes } = answer;
      if (bytes.length > LOOKED_AT_MAX || isPacked(bytes)) return { bytes };
      const reply = looked(bytes);
      if (reply.type === 'try_again') {
        await pauses.next();
        continue;
      }
      if (typeof reply.error === 'string') throw this.#failed(400, outsideText(reply.error));
      return { bytes };
    }
  }

  /** A request and the result of its future, parsed. */
  async run(ask: Ask, repeat: Repeat = 'harmless'): Promise<Readonly<Record<string, unknown>>> {
    const { bytes } = await this.result(await this.submit(ask, repeat), repeat);
    return this.#parsed(ask.route, bytes);
  }

  /**
   * Fails with code `TRAINER_REPLY` if an answer says that numbers are not finite: asking again does not
   * help.
   */
  #checkNaN(route: string, { reason, status = 0 }: Away): void {
    if (complainsOfNaN(status, reason)) throw this.#nan(route, reason);
  }

  #nan(route: string, said: string): MillraceError {
    const message = answersNaN(`the training service ${this.url}`, route, said);
    return new MillraceError('TRAINER_REPLY', message, { context: { url: this.url, route } });
  }

  #parsed(route: string, bytes: Uint8Array): Readonly<Record<string, unknown>> {
    try {
      return parsed(bytes);
    } catch (error) {
      throw holdsNaN(new TextDecoder().decode(bytes)) ? this.#nan(route, '') : error;
    }
  }

  #ask(ask: Ask): Promise<Answer> {
    return this.#options.transport.ask(ask);
  }

  #refused(status: number, detail: string): Error {
    if (status === 401 || status === 403 || status === 402) {
      return new MillraceError(
        'TRAINER_ACCESS',
        `${this.url} answers HTTP ${status}: ${detail}. Check the key (trainer.keyEnv names the environment variable that holds it) and the account.`,
        { context: { url: this.url, status } },
      );
    }
    if (status === 404 && MODEL_GONE.test(detail)) return new StateLost(detail);
    return new Refused(status, detail);
  }

  #failed(status: number, detail: string): Error {
    if (GIVEN_BEFORE.test(detail)) return new StateLost(`a result was lost (${detail})`);
    if (status === 404 || status === 410)
      return new StateLost(`a result no longer exists (${detail})`);
    if (MODEL_GONE.test(detail)) return new StateLost(detail);
    return this.#refused(status, detail);
  }

  #patience(route: string): Patience {
    return new Patience(this.#options, { url: this.url, route, absence: this.#absence });
  }
}

/** How long a service may be away from one request. */
class Patience {
  readonly #options: ClientOptions;
  readonly #of: { readonly url: string; readonly route: string; readonly absence: Absence };
  #sinceMs: number | null = null;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(
    options: ClientOptions,
    of: { readonly url: string; readonly route: string; readonly absence: Absence },
  ) {
    this.#options = options;
    this.#of = of;
  }

  /** Waits before the next attempt. Rejects with code `TRAINER_DOWN` when it has lasted too long. */
  async wait(reason: string): Promise<void> {
    const { clock, awayMs } = this.#options;
    const { url, route, absence } = this.#of;
    const nowMs = clock.now();
    this.#sinceMs ??= nowMs;
    const goneMs = nowMs - this.#sinceMs;
    if (goneMs >= awayMs) {
      throw new MillraceError(
        'TRAINER_DOWN',
        `the training service ${url} has not answered ${route} for ${wholeSeconds(goneMs)} s: ${reason}. See its log and restart it with the same ` +
          'database and checkpoints (npm run servers -- start skyrl for one on this machine), then start the run again: it resumes from its last step. ' +
          'If it has moved, set trainer.url; if it is only slow, raise trainer.waitSeconds.',
        { context: { url, route } },
      );
    }
    absence.goesOn(route, reason);
    await clock.sleep(Math.min(this.#pauseMs, awayMs - goneMs));
    this.#pauseMs = Math.min(2 * this.#pauseMs, LAST_PAUSE_MS);
  }

  /** The service answered. */
  ends(): void {
    this.#of.absence.ended();
    this.#sinceMs = null;
    this.#pauseMs = FIRST_PAUSE_MS;
  }
}

/** Pauses between polls for a result: a hundredth of the time that it has taken so far. */
class Pauses {
  readonly #clock: SleepClock;
  readonly #startMs: number;

  constructor(clock: SleepClock) {
    this.#clock = clock;
    this.#startMs = clock.now();
  }

  /** After the service answered `times` in a row that something went wrong in it. */
  broken(times: number): Promise<void> {
    return this.#clock.sleep(FIRST_PAUSE_MS * 2 ** (times - 1));
  }

  next(): Promise<void> {
    const waitedMs = this.#clock.now() - this.#startMs;
    return this.#clock.sleep(Math.min(1000, Math.max(5, waitedMs / 100)));
  }
}

/**
 * A result, as far as it says that there is none yet, or why there is none: NaN among its numbers is left to
 * its reader.
 */
function looked(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return parsed(bytes);
  } catch (error) {
    if (holdsNaN(new TextDecoder().decode(bytes))) return {};
    throw error;
  }
}

/** A reply as an object. Rejects with code `TRAINER_REPLY`. */
export function parsed(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const text = withoutSecrets(new TextDecoder().decode(bytes));
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // the next line says so
  }
  throw new MillraceError(
    'TRAINER_REPLY',
    `the training service's reply is not a JSON object: ${outsideText(text)}`,
  );
}
