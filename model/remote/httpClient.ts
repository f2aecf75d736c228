/**
 * One JSON request to one model server, and what came of it.
 *
 * Holds true: a request ends within `timeoutMs`, reply read; no reply is larger than `REPLY_BYTES_MAX`; redirects are
 * not followed; the key stands in the Authorization header and nowhere else, and is removed from what a server
 * says. Failures that another try may cure are data; a wrong key, model name or path is an error.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import fetch, { FetchError, type Response } from 'node-fetch';
import { MillraceError, messageOf } from '../../base/errors.ts';
import type { SleepClock } from '../../base/sleepClock.ts';

export type Outcome =
  | { readonly kind: 'reply'; readonly body: unknown }
  | Transient
  /** The server will not do this request, however often it is asked. */
  | { readonly kind: 'refused'; readonly reason: string };

/** Worth another try: no connection, no answer in time, overload, a server error, a reply that is no JSON. */
export interface Transient {
  readonly kind: 'transient';
  readonly reason: string;
  readonly retryAfterMs: number | null;
  /** Nobody is there, or nobody has time: waiting may help. False = somebody answered, and wrongly. */
  readonly away: boolean;
}

export interface HttpOptions {
  readonly clock: SleepClock;
  /** For one request, reply included. */
  readonly timeoutMs: number;
  /** Connections to each server. */
  readonly connectionsMax: number;
  /** Name of the environment variable that holds the API key; '' = none. */
  readonly keyEnv: string;
}

export interface HttpRequest {
  readonly url: string;
  /** Posted as JSON; a GET when left out. */
  readonly body?: unknown;
  /** The reply may be plain text: routes that only do something say so in a sentence. */
  readonly plain?: boolean;
}

const REPLY_BYTES_MAX = 64 * 1024 * 1024;
const REASON_MAX = 300;
/** Wrong for every request: the key, the model's name, the path. */
const ACCESS = [401, 403, 404, 405];
const TRANSIENT = [408, 409, 425, 429];
/** Too busy, or a proxy before a server that is not there. */
const AWAY = [429, 502, 503, 504];

export class HttpClient {
  readonly #options: HttpOptions;
  readonly #key: string;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  /** Fails with code `USAGE` when the environment lacks the key. */
  constructor(options: HttpOptions) {
    this.#options = options;
    this.#key = keyFrom(options.keyEnv);
    const connections = { keepAlive: true, maxSockets: options.connectionsMax };
    this.#http = new HttpAgent(connections);
    this.#https = new HttpsAgent(connections);
  }

  /** Rejects with the signal's reason, or with code `MODEL_ACCESS`; everything else is an outcome. */
  async ask(request: HttpRequest, signal: AbortSignal): Promise<Outcome> {
    signal.throwIfAborted();
    const { timeoutMs, clock } = this.#options;
    const fetching = new AbortController();
    const timer = new AbortController();
    const abort = () => fetching.abort();
    signal.addEventListener('abort', abort, { once: true });
    let late = false;
    const alarm = clock.sleep(timeoutMs, timer.signal).then(
      () => {
        late = true;
        abort();
      },
      () => undefined,
    );
    try {
      return await this.#fetch(request, fetching.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof MillraceError) throw error;
      const reason = late
        ? `no answer within ${timeoutMs} ms`
        : this.#blotted(networkReason(error));
      return transient(reason, { away: true });
    } finally {
      signal.removeEventListener('abort', abort);
      timer.abort();
      await alarm;
    }
  }

  /** Ends the connections that are kept. */
  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  async #fetch({ url, body, plain }: HttpRequest, signal: AbortSignal): Promise<Outcome> {
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'content-type': 'application/json',
        ...(this.#key === '' ? {} : { authorization: `Bearer ${this.#key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      agent: ({ protocol }) => (protocol === 'https:' ? this.#https : this.#http),
      redirect: 'error',
      size: REPLY_BYTES_MAX,
      signal,
    });
    const text = await response.text();
    if (response.ok) return replied(text, plain ?? false);
    return this.#failed(url, response, `HTTP ${response.status}: ${this.#blotted(detail(text))}`);
  }

  #failed(url: string, { status, headers }: Response, reason: string): Outcome {
    if (ACCESS.includes(status)) {
      throw new MillraceError(
        'MODEL_ACCESS',
        `${url} answers ${reason}. Check the URL, the model’s name and the key ` +
          `(${this.#options.keyEnv === '' ? 'no keyEnv is set' : `from $${this.#options.keyEnv}`}).`,
        { context: { url, status } },
      );
    }
    if (status < 500 && !TRANSIENT.includes(status)) return { kind: 'refused', reason };
    const retryAfter = retryAfterMs(headers.get('retry-after'), this.#options.clock.now());
    return transient(reason, { retryAfter, away: AWAY.includes(status) });
  }

  #blotted(text: string): string {
    return this.#key === '' ? text : text.replaceAll(this.#key, '[key]');
  }
}

function keyFrom(name: string): string {
  if (name === '') return '';
  const key = process.env[name]?.trim() ?? '';
  if (key !== '') return key;
  throw new MillraceError(
    'USAGE',
    `the environment variable ${name} is empty: put the model server's API key there, or clear keyEnv`,
  );
}

function transient(
  reason: string,
  { retryAfter = null, away = false }: { retryAfter?: number | null; away?: boolean } = {},
): Outcome {
  return { kind: 'transient', reason, retryAfterMs: retryAfter, away };
}

function replied(text: string, plain: boolean): Outcome {
  try {
    return { kind: 'reply', body: JSON.parse(text) };
  } catch {
    if (plain) return { kind: 'reply', body: text };
    return transient(`the reply is no JSON: ${short(text)}`);
  }
}

/** Servers say what is wrong as `error.message`, `message` or `detail`; others in plain text. */
function detail(text: string): string {
  try {
    const body = JSON.parse(text) as Record<string, unknown> | null;
    const inner = body?.error as Record<string, unknown> | string | undefined;
    const said =
      (typeof inner === 'object' ? inner?.message : inner) ?? body?.message ?? body?.detail;
    return short(typeof said === 'string' ? said : JSON.stringify(said ?? body));
  } catch {
    return short(text);
  }
}

function short(text: string): string {
  return text.length > REASON_MAX ? `${text.slice(0, REASON_MAX)}…` : text;
}

/** What went wrong on the wire, without the URL that the library puts before it. */
function networkReason(error: unknown): string {
  if (error instanceof FetchError) return messageOf(error).replace(/^.*?, reason: /s, '');
  return messageOf(error);
}

/** The header as milliseconds from now: seconds, or a date. */
function retryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - nowMs : seconds * 1000;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
