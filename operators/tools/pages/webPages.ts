/**
 * Fetches pages directly from the web in this process and parses them in worker threads.
 *
 * Redirects are followed here, one by one, each checked like the first address. A site's robots.txt is
 * respected, unless that is switched off.
 */
import type { LookupFunction } from 'node:net';
import {
  Exchange,
  type HttpReply,
  isPublicHost,
  isRedirect,
  NoReply,
  publicLookup,
} from '../../../base/http/index.ts';
import { LruCache, messageOf, RateLimit, type SleepClock } from '../../../base/index.ts';
import { type Extract, type PageParserOptions, pageParser } from './pageParser.ts';
import { failedPage, type Page, type PageSource, pageUrl } from './pageReader.ts';
import { closedRobots, noRobots, parseRobots, type Robots, robotsAllow } from './robots.ts';

/** How to fetch pages. */
export interface WebPagesOptions {
  readonly clock: SleepClock;
  /** Of one request (default 20000). */
  readonly timeoutMs?: number;
  /** Limit of a page's bytes, decompressed (default 8 MiB). */
  readonly bytesMax?: number;
  /** Requests a second; 0 = no limit (default). */
  readonly requestsPerSecond?: number;
  /** Allow private, loopback and link-local addresses (default false). */
  readonly privateAddresses?: boolean;
  /** Respect robots.txt (default true). */
  readonly robots?: boolean;
  readonly extract?: Extract;
  readonly userAgent?: string;
  readonly parsing?: Omit<PageParserOptions, 'clock'>;
  /** How names become addresses, instead of the system's way without private addresses. */
  readonly lookup?: LookupFunction;
}

const REDIRECTS_MAX = 5;
const BYTES_MAX = 8 * 1024 * 1024;
const AGENT = 'millrace';
const SITES_MAX = 1000;
/** Many pages wait for one robots.txt, so the end of one of them does not end the request; a timeout does. */
const UNENDED = new AbortController().signal;
const ACCEPT = 'text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9,*/*;q=0.5';

/** Pages straight from the web. Close it when done: it holds threads. */
export function webPages(options: WebPagesOptions): PageSource {
  const { clock, timeoutMs = 20_000, bytesMax = BYTES_MAX, requestsPerSecond = 0 } = options;
  const { privateAddresses = false, robots: polite = true, extract = 'readable' } = options;
  const { userAgent = `Mozilla/5.0 (compatible; ${AGENT})` } = options;
  const lookup = options.lookup ?? (privateAddresses ? undefined : publicLookup());
  const exchange = new Exchange({
    ...{ clock, timeoutMs, replyBytesMax: bytesMax },
    ...(lookup === undefined ? {} : { lookup }),
  });
  const parser = pageParser({ clock, ...options.parsing });
  const rate = new RateLimit(requestsPerSecond * 60, clock);
  const sites = new LruCache<Promise<Robots>>(SITES_MAX);
  const headers = { 'user-agent': userAgent, accept: ACCEPT, 'accept-language': 'en,*;q=0.5' };

  /** The reply after redirects; a text = why there is none. */
  async function fetched(
    from: string,
    signal: AbortSignal,
    allowed: (url: URL) => Promise<boolean>,
  ): Promise<HttpReply | string> {
    let url = from;
    for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
      const at = new URL(url);
      if (!privateAddresses && !isPublicHost(at)) return 'its address is not public';
      if (!(await allowed(at))) return 'the site does not allow it (robots.txt)';
      await rate.turn(signal);
      const reply = await exchange.ask({ url, headers }, signal);
      if (!isRedirect(reply)) return reply;
      const next = reply.header('location') ?? '';
      const to = URL.canParse(next, url) ? pageUrl(new URL(next, url).href) : null;
      if (to === null) return 'it leads to no address';
      url = to;
    }
    return 'it leads from one address to another without end';
  }

  /** A site without the file allows everything; one that is down allows nothing. */
  async function askRobots(origin: string): Promise<Robots> {
    const reply = await fetched(`${origin}/robots.txt`, UNENDED, async () => true);
    if (typeof reply === 'string') return noRobots;
    if (reply.status >= 500) return closedRobots;
    return reply.ok ? parseRobots(reply.text(), AGENT) : noRobots;
  }

  async function allows(url: URL): Promise<boolean> {
    if (!polite) return true;
    const known = sites.get(url.origin) ?? askRobots(url.origin);
    sites.set(url.origin, known);
    try {
      return robotsAllow(await known, url);
    } catch (error) {
      // Nobody has answered: the next page asks again.
      if (sites.get(url.origin) === known) sites.delete(url.origin);
      throw error;
    }
  }

  async function read(url: string, signal: AbortSignal): Promise<Page> {
    try {
      const reply = await fetched(url, signal, allows);
      if (typeof reply === 'string') return failedPage(reply);
      if (!reply.ok) return failedPage(`the server answers HTTP ${reply.status}`);
      const contentType = reply.header('content-type') ?? '';
      if (!isReadable(contentType)) return failedPage('it is neither HTML nor PDF nor text');
      const page = { bytes: reply.bytes, contentType, extract };
      return { kind: 'read', ...(await parser.parse(page, signal)) };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NoReply) return failedPage(error.message);
      return failedPage(`it cannot be read: ${messageOf(error)}`);
    }
  }

  return {
    scope: `web/${extract}`,
    read,
    async close() {
      exchange.close();
      await parser.close();
    },
  };
}

/** Media are not text. */
function isReadable(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase();
  return !/^(?:image|audio|video|font)\//.test(type) && !/zip|gzip|x-tar|wasm/.test(type);
}
