/**
 * A retriever that answers over HTTP: ours (`millrace retriever serve`), and those that speak as the papers'
 * scripts do (wire.ts).
 *
 * The address comes from the author of the job, so it may be private or loopback; redirects are not followed,
 * so nothing goes elsewhere. Requests end in time. What another try may cure is tried again, after the time
 * that the server asks for or `retryDelayMs`.
 */

import {
  Exchange,
  type HttpReply,
  isRedirect,
  NoReply,
  retryAfterMs,
  saidIn,
} from '../../../base/http/index.ts';
import {
  MillraceError,
  type Report,
  type SleepClock,
  withoutSecrets,
} from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import { toolDown } from '../tool.ts';
import type { Hit, Retriever } from './retriever.ts';
import { hitsIn, requestFor } from './wire.ts';

/** Which server to ask, and how patiently. */
export interface RemoteOptions {
  /**
   * With or without the route: an address that ends in `/search` is asked in ET-Agent's form, any other at
   * `/retrieve`.
   */
  readonly url: string;
  /** Sent as `Authorization: Bearer …`; '' = none. */
  readonly key: string;
  readonly clock: SleepClock;
  readonly triesMax: number;
  readonly retryDelayMs: number;
  /** Of one request. */
  readonly timeoutMs: number;
  /** Prints a line when requests begin to fail, and when they succeed again. */
  readonly report?: Report;
}

/** What may be asked; the number of passages on the server is unknown. */
export type Asks = Omit<Retriever, 'passages'>;

const REPLY_BYTES_MAX = 32 * 1024 * 1024;
/** Limit of a wait between two attempts, whatever a server asks for. */
const WAIT_MAX_MS = 60_000;
/** Statuses that are wrong for every query: the key or the path. */
const ACCESS = [401, 403, 404, 405];
const BUSY = [408, 425, 429, 502, 503, 504];

interface Failed {
  readonly reason: string;
  /**
   * `away`: no answer, or the server is busy; `refused`: every query would be refused; `wrong`: this one was
   * answered, and badly.
   */
  readonly kind: 'away' | 'refused' | 'wrong';
  /** Whether another attempt may help. */
  readonly again: boolean;
  readonly waitMs: number | null;
}

/**
 * Asks a server. Rejects with code `TOOL_DOWN` if it does not answer or refuses everything, with
 * `RETRIEVER_REPLY` if it answers badly.
 */
export function remoteRetriever(options: RemoteOptions): Asks {
  const { url, key, clock, triesMax, retryDelayMs, timeoutMs, report } = options;
  const exchange = new Exchange({ clock, timeoutMs, replyBytesMax: REPLY_BYTES_MAX });
  const route = url.endsWith('/search') ? '/search' : '/retrieve';
  const address = `${url.replace(/\/(retrieve|search)$/, '')}${route}`;
  const headers = {
    'content-type': 'application/json',
    ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
  };

  async function tried(body: string, signal: AbortSignal): Promise<Hit[][] | Failed> {
    try {
      return read(await exchange.ask({ url: address, headers, body }, signal));
    } catch (error) {
      if (!(error instanceof NoReply)) throw error;
      return { kind: 'away', reason: error.message, again: true, waitMs: null };
    }
  }

  function read(reply: HttpReply): Hit[][] | Failed {
    const { status } = reply;
    if (!reply.ok) {
      const said = isRedirect(reply) ? 'redirects are not followed' : saidIn(reply.text());
      return {
        kind:
          ACCESS.includes(status) || isRedirect(reply)
            ? 'refused'
            : BUSY.includes(status)
              ? 'away'
              : 'wrong',
        reason: `HTTP ${status}: ${said}`,
        again: status >= 500 || BUSY.includes(status),
        waitMs: retryAfterMs(reply.header('retry-after'), clock.now()),
      };
    }
    const hits = hitsIn(jsonIn(withoutSecrets(reply.text())), route);
    if (hits !== null) return hits;
    const reason = `the reply does not have the shape of a reply of ${route}: ${saidIn(reply.text())}`;
    return { kind: 'wrong', reason, again: false, waitMs: null };
  }

  let failedMs: number | null = null;
  function reportOnce(reason: string | null): void {
    if ((reason !== null) === (failedMs !== null)) return;
    const forMs = failedMs === null ? 0 : clock.now() - failedMs;
    failedMs = reason === null ? null : clock.now();
    const now = reason === null ? 'returns passages again' : `returns no passages: ${reason}`;
    report?.(`search: the retriever at ${address} ${now}`, {
      state: reason === null ? 'back' : 'away',
      server: address,
      reason: reason ?? '',
      forMs,
    });
  }

  async function asked(queries: readonly string[], top: number, signal: AbortSignal) {
    const body = JSON.stringify(requestFor(route, queries, top));
    for (let tries = 1; ; tries++) {
      const made = await tried(body, signal);
      if (Array.isArray(made)) {
        reportOnce(null);
        return made;
      }
      const { kind, reason, again, waitMs } = made;
      if (again && tries < triesMax) {
        await clock.sleep(Math.min(waitMs ?? retryDelayMs, WAIT_MAX_MS), signal);
        continue;
      }
      reportOnce(reason);
      if (kind === 'wrong') throw new MillraceError('RETRIEVER_REPLY', `${address}: ${reason}`);
      const does = kind === 'away' ? 'does not answer' : 'refuses requests';
      throw toolDown('search', `the retriever at ${address} ${does}: ${reason}`);
    }
  }

  return {
    async retrieve(queries, top, signal) {
      const requests = route === '/search' ? queries.map((query) => [query]) : [queries];
      const hits: Hit[][] = [];
      for (const request of requests) hits.push(...(await asked(request, top, signal)));
      return queries.map((_, i) => (hits[i] ?? []).slice(0, top));
    },
    close: async () => exchange.close(),
  };
}
