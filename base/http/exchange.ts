/**
 * One HTTP request and its whole reply.
 *
 * Guarantees: an exchange ends within `timeoutMs`, reply read; no reply is larger than `replyBytesMax`,
 * unless it is taken as it comes; a redirect is never followed here, so nothing that was meant for one server
 * reaches another.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { MillraceError, messageOf } from '../errors.ts';
import { outsideText } from '../outsideText.ts';
import type { SleepClock } from '../sleepClock.ts';
import type { Connections, Send } from './arriving.ts';
import { sendFetch } from './sendFetch.ts';
import { wholeBody } from './wholeBody.ts';

export interface ExchangeOptions {
  readonly clock: SleepClock;
  /** For one request, reply included. */
  readonly timeoutMs: number;
  /** Of one reply, unpacked. */
  readonly replyBytesMax: number;
  /** Connections to each server; no bound by default. */
  readonly connectionsMax?: number;
  /** How names become addresses; the system's way if left out. An address in a URL is not looked up. */
  readonly lookup?: LookupFunction;
  /** Sends the request; node-fetch if left out. */
  readonly send?: Send;
}

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Left out: a GET without a body, a POST with one. */
  readonly method?: 'PUT';
  readonly body?: string | Buffer | undefined;
  /**
   * Takes the body of a good reply as it arrives, whatever its size; the reply then has no bytes. `timeoutMs`
   * is then the longest wait between two pieces. May reject with a `MillraceError`, or with the body's own
   * error.
   */
  readonly take?: ((body: AsyncIterable<Uint8Array>) => Promise<void>) | undefined;
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

/** No complete reply arrived. The message says why and may be shown. */
export class NoReply extends Error {
  /** Whether the request may have reached the server all the same. */
  readonly sent: boolean;
  /** Whether the server answered with something unusable: too large, or not HTTP. */
  readonly answered: boolean;

  constructor(reason: string, sent: boolean, answered = false) {
    super(reason);
    this.sent = sent;
    this.answered = answered;
  }
}

class TooLarge extends Error {}

/** Ends a wait; an error for an abort without a reason would cost more than the wait. */
const OVER = 'over';

/** Failures to connect: nothing was sent. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #connections: Connections;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    const { connectionsMax = Number.POSITIVE_INFINITY, lookup } = options;
    const connections = {
      ...{ keepAlive: true, maxSockets: connectionsMax },
      ...(lookup === undefined ? {} : { lookup }),
    };
    this.#connections = {
      http: new HttpAgent(connections),
      https: new HttpsAgent(connections),
    };
  }

  /** Rejects with the signal's reason, or with `NoReply`. */
  async ask(request: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
    signal.throwIfAborted();
    const { timeoutMs, clock } = this.#options;
    const [going, alarm] = [new AbortController(), new AbortController()];
    const abort = () => going.abort(OVER);
    signal.addEventListener('abort', abort, { once: true });
    let late = false;
    let heard = false;
    const ring = async () => {
      do {
        heard = false;
        await clock.sleep(timeoutMs, alarm.signal);
      } while (heard);
      late = true;
      abort();
    };
    const ringing = ring().catch(() => undefined);
    try {
      return await this.#replyTo(request, going.signal, () => {
        heard = true;
      });
    } catch (error) {
      // Does not wait for the rest of the reply.
      abort();
      signal.throwIfAborted();
      if (late) throw new NoReply(`no answer within ${timeoutMs} ms`, true);
      throw error instanceof MillraceError || error instanceof NoReply ? error : noReply(error);
    } finally {
      signal.removeEventListener('abort', abort);
      alarm.abort(OVER);
      await ringing;
    }
  }

  /** Closes the connections kept open. */
  close(): void {
    this.#connections.http.destroy();
    this.#connections.https.destroy();
  }

  async #replyTo(
    { url, headers, method, body, take }: HttpRequest,
    signal: AbortSignal,
    heard: () => void,
  ): Promise<HttpReply> {
    const { replyBytesMax, send = sendFetch } = this.#options;
    const to = new URL(url);
    if (to.username !== '' || to.password !== '') throw new Error('the address holds a password');
    const how = method ?? (body === undefined ? 'GET' : 'POST');
    const sent = { url: to, headers, method: how, body } as const;
    const arriving = await send(sent, this.#connections, signal);
    const { status, header } = arriving;
    const ok = status >= 200 && status < 300;
    const tooLarge = () => new TooLarge(`a reply over limit: ${replyBytesMax} bytes`);
    const isTaken = ok && take !== undefined;
    if (isTaken) await take(pieces(arriving.body, heard));
    const bytes = isTaken
      ? new Uint8Array(0)
      : await wholeBody(arriving.body, replyBytesMax, tooLarge);
    return { status, ok, bytes, header, text: () => utf8.decode(bytes) };
  }
}

const utf8 = new TextDecoder();

async function* pieces(
  body: Readable,
  heard: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const piece of body) {
      heard();
      yield piece as Uint8Array;
    }
  } catch (error) {
    throw noReply(error);
  }
}

function noReply(error: unknown): NoReply {
  const { code = '' } = error as NodeJS.ErrnoException;
  // Too many bytes, not HTTP, or a body that cannot be decompressed.
  const answered = error instanceof TooLarge || code.startsWith('HPE_') || code === 'Z_DATA_ERROR';
  // Without the URL that node-fetch puts before the actual failure.
  const said = messageOf(error).replace(/^request to .*?, reason: /s, '');
  return new NoReply(outsideText(said || code), !NOT_SENT.includes(code), answered);
}

/** Whether the reply redirects the request. */
export function isRedirect({ status }: HttpReply): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}
