/**
 * One request over HTTP and its whole reply.
 *
 * Guarantees: an exchange ends within `timeoutMs`, reply read; no reply is larger than `replyBytesMax`; a
 * redirect is never followed here, so nothing that was meant for one server reaches another.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import fetch, { FetchError, type Response } from 'node-fetch';
import { messageOf } from '../errors.ts';
import { outsideText } from '../outsideText.ts';
import type { SleepClock } from '../sleepClock.ts';

export interface ExchangeOptions {
  readonly clock: SleepClock;
  /** For one request, reply included. */
  readonly timeoutMs: number;
  /** Of one reply, unpacked. */
  readonly replyBytesMax: number;
  /** Connections to each server; no bound by default. */
  readonly connectionsMax?: number;
  /** How names become addresses; the system's way when left out. An address in a URL is not looked up. */
  readonly lookup?: LookupFunction;
}

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Left out: a GET without a body, a POST with one. */
  readonly method?: 'PUT';
  readonly body?: string | Buffer | undefined;
}

export interface HttpReply {
  readonly status: number;
  /** From 200 to 299. */
  readonly ok: boolean;
  readonly header: (name: string) => string | null;
  readonly bytes: Uint8Array;
  /** The bytes as UTF-8. */
  readonly text: () => string;
}

/** No complete reply came. The message says why and may be shown. */
export class NoReply extends Error {
  /** Whether the request may have reached the server all the same. */
  readonly sent: boolean;
  /** Whether the server answered, with something unusable: too large, or not HTTP. */
  readonly answered: boolean;

  constructor(reason: string, sent: boolean, answered = false) {
    super(reason);
    this.sent = sent;
    this.answered = answered;
  }
}

/** Failures to connect: nothing was sent. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    const { connectionsMax = Number.POSITIVE_INFINITY, lookup } = options;
    const connections = {
      ...{ keepAlive: true, maxSockets: connectionsMax },
      ...(lookup === undefined ? {} : { lookup }),
    };
    this.#http = new HttpAgent(connections);
    this.#https = new HttpsAgent(connections);
  }

  /** Rejects with the signal's reason, or with `NoReply`. */
  async ask(request: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
    signal.throwIfAborted();
    const { timeoutMs, clock } = this.#options;
    const [fetching, alarm] = [new AbortController(), new AbortController()];
    const abort = () => fetching.abort();
    signal.addEventListener('abort', abort, { once: true });
    let late = false;
    const ringing = clock.sleep(timeoutMs, alarm.signal).then(
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
      if (late) throw new NoReply(`no answer within ${timeoutMs} ms`, true);
      throw noReply(error);
    } finally {
      signal.removeEventListener('abort', abort);
      alarm.abort();
      await ringing;
    }
  }

  /** Ends the connections that are kept. */
  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  async #fetch(
    { url, headers, method, body }: HttpRequest,
    signal: AbortSignal,
  ): Promise<HttpReply> {
    const response = await fetch(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers,
      ...(body === undefined ? {} : { body }),
      agent: ({ protocol }) => (protocol === 'https:' ? this.#https : this.#http),
      redirect: 'manual',
      size: this.#options.replyBytesMax,
      signal,
    });
    return replyOf(response, new Uint8Array(await response.arrayBuffer()));
  }
}

function replyOf({ status, ok, headers }: Response, bytes: Uint8Array): HttpReply {
  return {
    status,
    ok,
    header: (name) => headers.get(name),
    bytes,
    text: () => new TextDecoder().decode(bytes),
  };
}

/** Without the URL that the library puts before what went wrong on the wire. */
function noReply(error: unknown): NoReply {
  const code = error instanceof FetchError ? (error.code ?? '') : '';
  const said = messageOf(error);
  const reason = error instanceof FetchError ? said.replace(/^.*?, reason: /s, '') : said;
  const answered = error instanceof FetchError && isNonsense(error.type, code);
  return new NoReply(outsideText(reason), !NOT_SENT.includes(code), answered);
}

/** Too many bytes, invalid headers, a body that cannot be unpacked. */
function isNonsense(type: string, code: string): boolean {
  return type === 'max-size' || code.startsWith('HPE_') || code === 'Z_DATA_ERROR';
}

/** Whether the reply sends the request elsewhere. */
export function isRedirect({ status }: HttpReply): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}
