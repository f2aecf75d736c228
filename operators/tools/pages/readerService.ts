/**
 * Pages by a reader service with Jina's API: `GET <service>/<url>` with `Accept: application/json` gives
 * `data.title` and `data.content`. For pages that only a browser can show, and for sites that refuse us.
 */
import { lookup } from 'node:dns/promises';
import {
  Exchange,
  isPublicAddress,
  isPublicHost,
  NoReply,
  saidIn,
} from '../../../base/http/index.ts';
import { RateLimit, type SleepClock, withoutSecrets } from '../../../base/index.ts';
import { valueAt } from '../web/webResult.ts';
import { failedPage, type Page, type PageSource } from './pageReader.ts';

/** The service, and how to ask it. */
export interface ReaderServiceOptions {
  /** Default `https://r.jina.ai`. */
  readonly url?: string;
  /** '' = none. */
  readonly key?: string;
  readonly clock: SleepClock;
  /** Default 30000. */
  readonly timeoutMs?: number;
  readonly requestsPerSecond?: number;
  /** Whether to ask it for private, loopback and link-local addresses too (default false). */
  readonly privateAddresses?: boolean;
}

const ADDRESS = 'https://r.jina.ai';
const BYTES_MAX = 16 * 1024 * 1024;

/** Pages by a reader service. */
export function readerService(options: ReaderServiceOptions): PageSource {
  const { url: service = ADDRESS, key = '', clock, timeoutMs = 30_000 } = options;
  const { requestsPerSecond = 0, privateAddresses = false } = options;
  const exchange = new Exchange({ clock, timeoutMs, replyBytesMax: BYTES_MAX });
  const rate = new RateLimit(requestsPerSecond * 60, clock);
  const headers = {
    accept: 'application/json',
    ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
  };

  async function read(url: string, signal: AbortSignal): Promise<Page> {
    if (!privateAddresses && !(await leadsOutside(new URL(url)))) {
      return failedPage('its address is not public');
    }
    await rate.turn(signal);
    try {
      const reply = await exchange.ask({ url: `${service}/${url}`, headers }, signal);
      if (!reply.ok)
        return failedPage(`the reader answers HTTP ${reply.status}: ${saidIn(reply.text())}`);
      return pageIn(withoutSecrets(reply.text()));
    } catch (error) {
      if (error instanceof NoReply)
        return failedPage(`the reader does not answer: ${error.message}`);
      throw error;
    }
  }

  return { scope: `reader/${service}`, read, close: async () => exchange.close() };
}

/**
 * A service inside your network could be a way in. A name that does not resolve here is left to the service.
 */
async function leadsOutside(url: URL): Promise<boolean> {
  if (!isPublicHost(url)) return false;
  const found = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
  return found.every(({ address }) => isPublicAddress(address));
}

function pageIn(reply: string): Page {
  let body: unknown;
  try {
    body = JSON.parse(reply);
  } catch {
    return failedPage('the reader’s reply is not JSON');
  }
  const [title, text] = [valueAt(body, 'data.title'), valueAt(body, 'data.content')];
  if (typeof text !== 'string') return failedPage('the reader’s reply has no data.content');
  return { kind: 'read', title: typeof title === 'string' ? title : '', text, format: 'text' };
}
