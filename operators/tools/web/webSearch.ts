/**
 * Searches the web by one provider: one request after another until there is an answer, with the waits of the
 * papers.
 *
 * Guarantees: a key is in the request alone, never in a reason; requests keep to the rate; each ends in
 * time. A wrong key is an error, since no other query would get further; what another try may cure is tried
 * again and is then data.
 */
import { Exchange, type HttpReply, NoReply, saidIn } from '../../../base/http/index.ts';
import { outsideText, RateLimit, type SleepClock, withoutSecrets } from '../../../base/index.ts';
import { toolDown } from '../tool.ts';
import type { SearchProvider } from './providers/provider.ts';
import type { WebResult } from './webResult.ts';

/** Which provider to ask, and how patiently. */
export interface WebSearchOptions {
  readonly provider: SearchProvider;
  /** API keys, tried one after the other; none = the provider needs none. */
  readonly keys: readonly string[];
  /** What a message calls a refused key: `the key in $SERPER_API_KEY`. */
  readonly keyName?: string;
  readonly clock: SleepClock;
  /** Attempts per search with each key (default 3). */
  readonly triesMax?: number;
  /** Wait between them (default 5000). */
  readonly retryDelayMs?: number;
  /** Requests a second; 0 = no limit (default). */
  readonly requestsPerSecond?: number;
  /** Of one request (default 60000). */
  readonly timeoutMs?: number;
  /** Prints a line when searches begin to fail, and when they succeed again. */
  readonly report?: (line: string) => void;
}

/** A search's outcome: results, or why there are none. */
export type Searched =
  | { readonly kind: 'found'; readonly results: readonly WebResult[] }
  | { readonly kind: 'failed'; readonly reason: string };

/** Searches of the web. */
export interface WebSearch {
  readonly provider: SearchProvider;
  /** Rejects with the signal's reason; with code `TOOL_DOWN` if the key is refused or there is no answer. */
  search(query: string, signal: AbortSignal): Promise<Searched>;
  close(): void;
}

interface NotFound {
  readonly kind: 'refused' | 'away' | 'failed';
  readonly reason: string;
}

type Tried = Extract<Searched, { kind: 'found' }> | NotFound;

const REPLY_BYTES_MAX = 8 * 1024 * 1024;
/** The key is wrong, or has no credit left. */
const REFUSED = [401, 402, 403];

/** Searches by a provider. Close it when done. */
export function webSearch(options: WebSearchOptions): WebSearch {
  const { provider, keys, clock, keyName = 'the key', report } = options;
  const { triesMax = 3, retryDelayMs = 5000, requestsPerSecond = 0, timeoutMs = 60_000 } = options;
  const exchange = new Exchange({ clock, timeoutMs, replyBytesMax: REPLY_BYTES_MAX });
  const rate = new RateLimit(requestsPerSecond * 60, clock);

  async function tried(query: string, key: string, signal: AbortSignal): Promise<Tried> {
    await rate.turn(signal);
    try {
      return read(provider, await exchange.ask(provider.request(query, key), signal));
    } catch (error) {
      if (!(error instanceof NoReply)) throw error;
      return { kind: 'away', reason: error.message };
    }
  }

  /** With one key. */
  async function persistent(query: string, key: string, signal: AbortSignal): Promise<Tried> {
    let empty = 0;
    for (let tries = 1; ; tries++) {
      const made = await tried(query, key, signal);
      if (made.kind === 'refused') return made;
      if (made.kind === 'found') {
        if (made.results.length > 0 || ++empty >= provider.emptyTriesMax) return made;
      }
      if (tries >= triesMax) return made;
      await clock.sleep(retryDelayMs, signal);
    }
  }

  let failing = false;
  function reportOnce(reason: string | null): void {
    if ((reason !== null) === failing) return;
    failing = reason !== null;
    const now = failing ? `returns no results: ${reason}` : 'returns results again';
    report?.(`search: ${provider.name} ${now}`);
  }

  return {
    provider,
    async search(query, signal) {
      const all: NotFound[] = [];
      for (const key of keys.length === 0 ? [''] : keys) {
        const made = await persistent(query, key, signal);
        if (made.kind === 'found') {
          reportOnce(null);
          return made;
        }
        all.push(made);
      }
      const { kind, reason } = all.at(-1)!;
      reportOnce(reason);
      if (all.every((one) => one.kind === 'refused')) {
        throw toolDown(
          'search',
          `${provider.name} refuses the request: ${reason}; check ${keyName}`,
        );
      }
      if (kind === 'away') throw toolDown('search', `${provider.name} does not answer: ${reason}`);
      return { kind: 'failed', reason };
    },
    close: () => exchange.close(),
  };
}

function read(provider: SearchProvider, reply: HttpReply): Tried {
  const { status } = reply;
  if (!reply.ok) {
    const reason = `HTTP ${status}: ${saidIn(reply.text())}`;
    return { kind: REFUSED.includes(status) ? 'refused' : 'failed', reason };
  }
  let body: unknown;
  try {
    body = JSON.parse(withoutSecrets(reply.text()));
  } catch {
    return { kind: 'failed', reason: 'the reply is not JSON' };
  }
  const results = provider.read(body);
  if (typeof results === 'string') return { kind: 'failed', reason: outsideText(results) };
  if (results !== null) return { kind: 'found', results };
  return {
    kind: 'failed',
    reason: `the reply is not as documented: ${saidIn(JSON.stringify(body))}`,
  };
}
