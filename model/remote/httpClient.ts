/**
 * One JSON request to one model server, and its outcome.
 *
 * Guarantees: the key is in the Authorization header and nowhere else, and no kept secret is in a reply that
 * is passed on. Failures that another try may cure are data; a wrong key, model name or path is an error.
 * base/http/exchange.ts bounds requests.
 */

import {
  answersNaN,
  apiKey,
  complainsOfNaN,
  Exchange,
  type HttpReply,
  holdsNaN,
  isRedirect,
  NoReply,
  retryAfterMs,
  saidIn,
  sendDirect,
} from '../../base/http/index.ts';
import { MillraceError, outsideText, type SleepClock, withoutSecrets } from '../../base/index.ts';

export type Outcome =
  | { readonly kind: 'reply'; readonly body: unknown }
  | Transient
  /** The server will not carry out this request, however often it is sent. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Worth another attempt: no connection, no answer in time, overload, a server error, a reply that is not
 * JSON.
 */
export interface Transient {
  readonly kind: 'transient';
  readonly reason: string;
  readonly retryAfterMs: number | null;
  /** No server answers, or none has capacity: waiting may help. False = a server answered wrongly. */
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
  /** Sends requests; HTTP unless given. */
  readonly exchange?: Pick<Exchange, 'ask' | 'close'>;
}

export interface JsonRequest {
  readonly url: string;
  /** Posted as JSON; bytes are sent with PUT unchanged; a GET if left out. */
  readonly body?: unknown;
  /** The reply may be plain text: some routes only answer with a sentence. */
  readonly plain?: boolean;
}

const BYTES = 'application/octet-stream';
const REPLY_BYTES_MAX = 64 * 1024 * 1024;
/** Wrong for every request: the key, the model's name, the path. */
const ACCESS = [401, 403, 404, 405];
const TRANSIENT = [408, 409, 425, 429];
/** Too busy, or a proxy in front of a server that is down. */
const AWAY = [429, 502, 503, 504];

export class HttpClient {
  readonly #options: HttpOptions;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #exchange: Pick<Exchange, 'ask' | 'close'>;

  /** Fails with code `USAGE` if the environment lacks the key. */
  constructor(options: HttpOptions) {
    this.#options = options;
    const key = apiKey(options.keyEnv, 'the model server’s');
    this.#headers = {
      'content-type': 'application/json',
      ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
    };
    this.#exchange =
      options.exchange ??
      new Exchange({ ...options, replyBytesMax: REPLY_BYTES_MAX, send: sendDirect });
  }

  /**
   * Rejects with the signal's reason, or with code `MODEL_ACCESS`, or `MODEL_REPLY` if it answers NaN;
   * everything else is an outcome.
   */
  async ask({ url, body, plain = false }: JsonRequest, signal: AbortSignal): Promise<Outcome> {
    const headers = this.#headers;
    const request = Buffer.isBuffer(body)
      ? { url, headers: { ...headers, 'content-type': BYTES }, method: 'PUT' as const, body }
      : { url, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    try {
      const reply = await this.#exchange.ask(request, signal);
      return reply.ok ? replied(url, reply.text(), plain) : this.#failed(url, reply);
    } catch (error) {
      if (error instanceof NoReply) return transient(error.message, { away: !error.answered });
      throw error;
    }
  }

  /** Closes the connections kept open. */
  close(): void {
    this.#exchange.close();
  }

  #failed(url: string, reply: HttpReply): Outcome {
    const { status } = reply;
    if (isRedirect(reply)) {
      return transient(
        `HTTP ${status}: redirects are not followed; give the address it redirects to`,
      );
    }
    const reason = `HTTP ${status}: ${saidIn(reply.text())}`;
    if (ACCESS.includes(status)) {
      throw new MillraceError(
        'MODEL_ACCESS',
        `${url} answers ${reason}. Check the URL, the model’s name and the key ` +
          `(${this.#options.keyEnv === '' ? 'no keyEnv is set' : `from $${this.#options.keyEnv}`}).`,
        { context: { url, status } },
      );
    }
    if (complainsOfNaN(status, reason)) throw nan(url, reason);
    if (status < 500 && !TRANSIENT.includes(status)) return { kind: 'refused', reason };
    const retryAfter = retryAfterMs(reply.header('retry-after'), this.#options.clock.now());
    return transient(reason, { retryAfter, away: AWAY.includes(status) });
  }
}

function transient(
  reason: string,
  { retryAfter = null, away = false }: { retryAfter?: number | null; away?: boolean } = {},
): Outcome {
  return { kind: 'transient', reason, retryAfterMs: retryAfter, away };
}

function nan(url: string, said: string): MillraceError {
  const { origin, pathname } = new URL(url);
  return new MillraceError('MODEL_REPLY', answersNaN(origin, pathname, said), { context: { url } });
}

/** A server may repeat what it was sent in its answer. */
function replied(url: string, reply: string, plain: boolean): Outcome {
  const text = withoutSecrets(reply);
  try {
    return { kind: 'reply', body: JSON.parse(text) };
  } catch {
    if (holdsNaN(text)) throw nan(url, '');
    if (plain) return { kind: 'reply', body: text };
    return transient(`the reply is not JSON: ${outsideText(text)}`);
  }
}
