/**
 * A client of an outside server that may be unavailable: retries requests until it answers, and says so once.
 *
 * Guarantees: a request that the server may have received is repeated, since each of ours may be received
 * twice. A request that the server refuses is not repeated.
 */

import { Exchange, type HttpReply, NoReply, saidIn } from '../../base/http/index.ts';
import { MillraceError, type SleepClock } from '../../base/index.ts';

export interface ClientOptions {
  /** Its name in messages: `MLflow`. */
  readonly what: string;
  /** Without a last slash. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: SleepClock;
  /** Prints a line for the user. */
  readonly notice: (line: string) => void;
  /** How long to wait for it; infinite = until it answers. */
  readonly patienceMs: number;
}

const TIMEOUT_MS = 60_000;
const REPLY_BYTES_MAX = 16_000_000;
const FIRST_WAIT_MS = 1_000;
const WAIT_MAX_MS = 60_000;
/** Statuses that may pass soon. */
const BUSY = [408, 425, 429];

export class PatientClient {
  readonly #options: ClientOptions;
  readonly #exchange: Exchange;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#exchange = new Exchange({
      clock: options.clock,
      timeoutMs: TIMEOUT_MS,
      replyBytesMax: REPLY_BYTES_MAX,
    });
  }

  /**
   * The reply to a GET (no body) or a POST, as it is with a status below 300 or one of `also`. Rejects with
   * the signal's reason, with code `AWAY` after waiting too long, or with code `REFUSED` and what the
   * server said.
   */
  async ask(
    path: string,
    body: Buffer | string | undefined,
    signal: AbortSignal,
    {
      headers = {},
      also = [],
    }: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly also?: readonly number[];
    } = {},
  ): Promise<HttpReply> {
    const { what, url, clock, notice, patienceMs } = this.#options;
    const sinceMs = clock.now();
    let reported = false;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MAX_MS)) {
      const request = { url: url + path, headers: { ...this.#options.headers, ...headers }, body };
      const reply = await this.#exchange.ask(request, signal).catch((error: unknown) => {
        if (error instanceof NoReply) return error;
        throw error;
      });
      const away = whyAway(reply);
      if (away === null) {
        if (reported) notice(`${what} at ${url} answers again`);
        return accepted(reply as HttpReply, also, { what, url, path });
      }
      if (clock.now() + waitMs - sinceMs > patienceMs) {
        throw new MillraceError(
          'AWAY',
          `${what} at ${url} does not answer (${away}); repeat the command when it does, and it will resume`,
        );
      }
      if (!reported) notice(`${what} at ${url} does not answer (${away}); retrying`);
      reported = true;
      await clock.sleep(waitMs, signal);
    }
  }

  close(): void {
    this.#exchange.close();
  }
}

function whyAway(reply: HttpReply | NoReply): string | null {
  if (reply instanceof NoReply) return reply.message;
  const { status } = reply;
  if (status < 500 && !BUSY.includes(status)) return null;
  return `${status}: ${saidIn(reply.text())}`;
}

function accepted(
  reply: HttpReply,
  also: readonly number[],
  { what, url, path }: { readonly what: string; readonly url: string; readonly path: string },
): HttpReply {
  if (reply.ok || also.includes(reply.status)) return reply;
  const login = [401, 403].includes(reply.status) ? ' (check the credentials)' : '';
  throw new MillraceError(
    'REFUSED',
    `${what} at ${url} refused ${path} with ${reply.status}${login}: ${saidIn(reply.text())}`,
    { context: { url, path, status: reply.status } },
  );
}
