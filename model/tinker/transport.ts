/**
 * One request to a training service of the Tinker API, and what came of it.
 *
 * Holds true: a request ends within `timeoutMs`, reply read; no reply is larger than `REPLY_BYTES_MAX`; the key stands in the
 * header `X-API-Key` of requests to the service and nowhere else, and is removed from what a service says. Whether a
 * request that failed may have reached the service is told apart, since what trains must not be sent twice.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import fetch, { FetchError, type Response } from 'node-fetch';
import { MillraceError, messageOf } from '../../base/errors.ts';
import type { SleepClock } from '../../base/sleepClock.ts';

export interface TransportOptions {
  /** Address of the service: `http://host:8000`. */
  readonly url: string;
  /** Name of the environment variable that holds the API key; '' = none. */
  readonly keyEnv: string;
  readonly clock: SleepClock;
  /** For one request, reply included. Services hold a question for a result up to five minutes. */
  readonly timeoutMs: number;
}

export type Answer =
  | { readonly kind: 'reply'; readonly bytes: Uint8Array }
  /** The service answers with another status; `detail` is what it says. */
  | { readonly kind: 'status'; readonly status: number; readonly detail: string }
  /** No usable answer. `arrived` = the request may have been taken all the same. */
  | {
      readonly kind: 'away';
      readonly reason: string;
      readonly arrived: boolean;
      /** Of an answer from 500 on. */
      readonly status?: number;
    };

export interface Ask {
  /** Below `<url>/api/v1/`. */
  readonly route: string;
  /** JSON, as an object or as its bytes; a GET when left out. */
  readonly body?: unknown;
}

const REPLY_BYTES_MAX = 512 * 1024 * 1024;
const DETAIL_MAX = 400;
/** Failures to connect: nothing was sent. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

export class Transport {
  readonly url: string;
  readonly #options: TransportOptions;
  readonly #key: string;
  readonly #http = new HttpAgent({ keepAlive: true });
  readonly #https = new HttpsAgent({ keepAlive: true });
  readonly #closed = new AbortController();

  /** Fails with code `USAGE` when the environment lacks the key, or the address is none. */
  constructor(options: TransportOptions) {
    this.#options = options;
    this.url = addressOf(options.url);
    this.#key = keyFrom(options.keyEnv);
  }

  /** Rejects only when the transport is closed. */
  async ask({ route, body }: Ask): Promise<Answer> {
    const { clock, timeoutMs } = this.#options;
    this.#closed.signal.throwIfAborted();
    const [fetching, alarm] = [new AbortController(), new AbortController()];
    const abort = () => fetching.abort();
    this.#closed.signal.addEventListener('abort', abort, { once: true });
    let late = false;
    const ringing = clock.sleep(timeoutMs, alarm.signal).then(
      () => {
        late = true;
        abort();
      },
      () => undefined,
    );
    try {
      return await this.#fetch(`${this.url}/api/v1/${route}`, body, fetching.signal);
    } catch (error) {
      this.#closed.signal.throwIfAborted();
      if (late) return { kind: 'away', reason: `no answer within ${timeoutMs} ms`, arrived: true };
      const arrived = !(error instanceof FetchError && NOT_SENT.includes(error.code ?? ''));
      return { kind: 'away', reason: this.#blotted(networkReason(error)), arrived };
    } finally {
      this.#closed.signal.removeEventListener('abort', abort);
      alarm.abort();
      await ringing;
    }
  }

  /** Open requests reject. */
  close(): void {
    this.#closed.abort(new MillraceError('TRAINER_CLOSED', 'the trainer was closed'));
    this.#http.destroy();
    this.#https.destroy();
  }

  async #fetch(url: string, body: unknown, signal: AbortSignal): Promise<Answer> {
    const content = body === undefined ? undefined : contentOf(body);
    const response = await this.#follow(url, content, signal);
    if (response.ok) {
      return { kind: 'reply', bytes: new Uint8Array(await response.arrayBuffer()) };
    }
    const { status } = response;
    const detail = this.#blotted(detailOf(await response.text()));
    if (status >= 500) {
      return { kind: 'away', reason: `HTTP ${status}: ${detail}`, arrived: true, status };
    }
    if (status === 429) return { kind: 'away', reason: `HTTP 429: ${detail}`, arrived: false };
    return { kind: 'status', status, detail };
  }

  /** Archives lie behind a redirect, which may lead to a storage of somebody else's: it is not told the key. */
  async #follow(
    url: string,
    body: string | Buffer | undefined,
    signal: AbortSignal,
    left = 3,
  ): Promise<Response> {
    const own = new URL(url).origin === new URL(this.url).origin;
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(own && this.#key !== '' ? { 'x-api-key': this.#key } : {}),
      },
      ...(body === undefined ? {} : { body }),
      agent: ({ protocol }) => (protocol === 'https:' ? this.#https : this.#http),
      redirect: 'manual',
      size: REPLY_BYTES_MAX,
      signal,
    });
    const next = response.headers.get('location');
    const redirects = response.status >= 300 && response.status < 400;
    if (!redirects || next === null || body !== undefined || left === 0) return response;
    response.body?.resume?.();
    return this.#follow(new URL(next, url).href, undefined, signal, left - 1);
  }

  #blotted(text: string): string {
    return this.#key === '' ? text : text.replaceAll(this.#key, '[key]');
  }
}

/** What was written elsewhere is sent as it is. */
function contentOf(body: unknown): string | Buffer {
  if (!ArrayBuffer.isView(body)) return JSON.stringify(body);
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

function addressOf(url: string): string {
  if (/^https?:\/\/[^/\s]+/.test(url)) {
    return url.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
  }
  throw new MillraceError(
    'USAGE',
    `'${url}' is no address of a training service: give one such as http://127.0.0.1:8000`,
  );
}

function keyFrom(name: string): string {
  if (name === '') return '';
  const key = process.env[name]?.trim() ?? '';
  if (key !== '') return key;
  throw new MillraceError(
    'USAGE',
    `the environment variable ${name} is empty: put the training service's API key there, or clear keyEnv`,
  );
}

/** `{"detail": …}` of FastAPI, `{"error": …}` of the hosted service, or plain text. */
function detailOf(text: string): string {
  try {
    const { detail, error } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const said = detail ?? error ?? text;
    return short(typeof said === 'string' ? said : JSON.stringify(said));
  } catch {
    return short(text);
  }
}

function short(text: string): string {
  return text.length > DETAIL_MAX ? `${text.slice(0, DETAIL_MAX)}…` : text;
}

function networkReason(error: unknown): string {
  if (error instanceof FetchError) return messageOf(error).replace(/^.*?, reason: /s, '');
  return messageOf(error);
}
