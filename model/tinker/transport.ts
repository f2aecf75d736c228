/**
 * One request to a training service of the Tinker API, and its outcome.
 *
 * Guarantees: the key is in the header `X-API-Key` of requests to the service and nowhere else. A failed
 * request that may have reached the service is distinguished from one that has not, since what trains must
 * not be sent twice. base/http/exchange.ts bounds requests.
 */
import { setMaxListeners } from 'node:events';
import {
  apiKey,
  Exchange,
  type HttpReply,
  type HttpRequest,
  isRedirect,
  NoReply,
  saidIn,
  serverAddress,
  TRAINING_SERVICE,
} from '../../base/http/index.ts';
import { MillraceError, type SleepClock } from '../../base/index.ts';
import { isPacked, PACKED_TYPE } from './packed.ts';

export interface TransportOptions {
  /** Address of the service: `http://host:8000`. */
  readonly url: string;
  /** Name of the environment variable that holds the API key; '' = none. */
  readonly keyEnv: string;
  readonly clock: SleepClock;
  /** For one request, including the reply. Services hold a poll for a result up to five minutes. */
  readonly timeoutMs: number;
}

export type Answer =
  | { readonly kind: 'reply'; readonly bytes: Uint8Array }
  /** The service answered with another status; `detail` is its explanation. */
  | { readonly kind: 'status'; readonly status: number; readonly detail: string }
  /** No usable answer. `arrived` = the request may have been accepted all the same. */
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
  /** Takes a good reply as it comes, for what is too large to hold; see `HttpRequest`. */
  readonly take?: HttpRequest['take'];
}

const REPLY_BYTES_MAX = 512 * 1024 * 1024;
const REDIRECTS_MAX = 3;

export class Transport {
  readonly url: string;
  readonly #key: string;
  readonly #exchange: Exchange;
  readonly #closed = new AbortController();

  /** Fails with code `USAGE` when the environment lacks the key, or the address is invalid. */
  constructor(options: TransportOptions) {
    this.url = serverAddress(options.url, TRAINING_SERVICE);
    this.#key = apiKey(options.keyEnv, 'the training service’s');
    // Every open request listens to it; Node would take that for a leak.
    setMaxListeners(0, this.#closed.signal);
    this.#exchange = new Exchange({ ...options, replyBytesMax: REPLY_BYTES_MAX });
  }

  /** Rejects only when the transport is closed, and with what `take` rejects with. */
  async ask({ route, body, take }: Ask): Promise<Answer> {
    const content = body === undefined ? undefined : contentOf(body);
    try {
      return answerIn(await this.#follow(`${this.url}/api/v1/${route}`, content, take));
    } catch (error) {
      if (!(error instanceof NoReply)) throw error;
      return { kind: 'away', reason: error.message, arrived: error.sent };
    }
  }

  /** Open requests reject. */
  close(): void {
    this.#closed.abort(new MillraceError('TRAINER_CLOSED', 'the trainer was closed'));
    this.#exchange.close();
  }

  /**
   * Archives are behind a redirect, which may lead to another party's storage: it is not sent the key.
   */
  async #follow(
    url: string,
    body: string | Buffer | undefined,
    take: Ask['take'],
  ): Promise<HttpReply> {
    let at = url;
    for (let left = REDIRECTS_MAX; ; left--) {
      const reply = await this.#exchange.ask(
        { url: at, headers: this.#headers(at, body), body, take },
        this.#closed.signal,
      );
      const next = reply.header('location');
      if (!isRedirect(reply) || next === null || body !== undefined || left === 0) return reply;
      if (!URL.canParse(next, at)) return reply;
      at = new URL(next, at).href;
    }
  }

  #headers(url: string, body: string | Buffer | undefined): Record<string, string> {
    const own = new URL(url).origin === new URL(this.url).origin;
    return {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': typeOf(body) }),
      ...(own && this.#key !== '' ? { 'x-api-key': this.#key } : {}),
    };
  }
}

function answerIn(reply: HttpReply): Answer {
  const { ok, bytes, status } = reply;
  if (ok) return { kind: 'reply', bytes };
  const detail = saidIn(reply.text());
  if (status >= 500) {
    return { kind: 'away', reason: `HTTP ${status}: ${detail}`, arrived: true, status };
  }
  if (status === 429) return { kind: 'away', reason: `HTTP 429: ${detail}`, arrived: false };
  return { kind: 'status', status, detail };
}

function typeOf(body: string | Buffer): string {
  return typeof body !== 'string' && isPacked(body) ? PACKED_TYPE : 'application/json';
}

/** Bytes are sent unchanged. */
function contentOf(body: unknown): string | Buffer {
  if (!ArrayBuffer.isView(body)) return JSON.stringify(body);
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}
