/**
 * A collection of Qdrant over its REST interface, as far as passages need it: six requests.
 *
 * Guarantees: the key is in a header and nowhere else; requests end in time and are tried again if that may
 * help; a server that does not answer is `TOOL_DOWN`, what it refuses is `QDRANT` with its own words.
 */

import {
  Exchange,
  NoReply,
  retryAfterMs,
  saidIn,
  serverAddress,
} from '../../../base/http/index.ts';
import { MillraceError, type SleepClock } from '../../../base/index.ts';
import { toolDown } from '../tool.ts';

/** Where a collection is. */
export interface QdrantPlace {
  /** `http://host:6333` */
  readonly url: string;
  readonly collection: string;
}

/**
 * `qdrant://host:6333/collection`, or `qdrants://…` over TLS; null if the text begins otherwise. Fails
 * with `USAGE` on what is wrong in it.
 */
export function qdrantPlace(text: string): QdrantPlace | null {
  const [, secure, rest] = /^qdrant(s?):\/\/(.*)$/s.exec(text) ?? [];
  if (rest === undefined) return null;
  const [scheme, port] = secure === 's' ? ['https', ''] : ['http', ':6333'];
  const end = rest.lastIndexOf('/');
  const [host, collection] = end < 0 ? [rest, ''] : [rest.slice(0, end), rest.slice(end + 1)];
  const url = serverAddress(`${scheme}://${host}`, { what: 'a Qdrant', suffix: '/' });
  if (!/^[\w.-]{1,255}$/.test(collection)) {
    throw new MillraceError('USAGE', `${text} has no collection: write qdrant://host:6333/name`);
  }
  return { url: /:\d+(\/|$)/.test(host) ? url : `${url}${port}`, collection };
}

export interface QdrantOptions extends QdrantPlace {
  /** Sent as `api-key`; '' = none. */
  readonly key: string;
  readonly clock: SleepClock;
  /** Of one request (default 60000). */
  readonly timeoutMs?: number;
}

/** A collection's properties. */
export interface CollectionShape {
  readonly points: number;
  /** The dimensions of a point's one vector; null if points have other vectors. */
  readonly dimensions: number | null;
}

/** A point's data besides its vector. */
export type Payload = Readonly<Record<string, unknown>>;

/** A point to be put. */
export interface Point {
  /** A UUID. */
  readonly id: string;
  readonly vector: readonly number[];
  readonly payload: Payload;
}

/** A point that was found. */
export interface ScoredPoint {
  readonly score: number;
  readonly payload: Payload;
}

const REPLY_BYTES_MAX = 256 * 1024 * 1024;
const TRIES_MAX = 4;
const RETRY_DELAY_MS = 1000;
const WAIT_MAX_MS = 30_000;
const AGAIN = [408, 425, 429, 500, 502, 503, 504];

interface Request {
  readonly method?: 'PUT' | undefined;
  /** Behind the collection's own. */
  readonly path: string;
  readonly body?: unknown;
}

export class QdrantClient {
  readonly #options: QdrantOptions;
  readonly #exchange: Exchange;
  readonly #address: string;

  constructor(options: QdrantOptions) {
    const { url, collection, clock, timeoutMs = 60_000 } = options;
    this.#options = options;
    this.#address = `${url}/collections/${collection}`;
    this.#exchange = new Exchange({ clock, timeoutMs, replyBytesMax: REPLY_BYTES_MAX });
  }

  /** Its name in messages. */
  get name(): string {
    return this.#address;
  }

  /** Null if there is no such collection. */
  async shape(signal: AbortSignal): Promise<CollectionShape | null> {
    const found = await this.#ask({ path: '' }, signal, { absent: true });
    if (found === null) return null;
    const { points_count: points, config } = found as {
      readonly points_count?: number | null;
      readonly config?: { readonly params?: { readonly vectors?: { readonly size?: number } } };
    };
    return { points: points ?? 0, dimensions: config?.params?.vectors?.size ?? null };
  }

  async create(dimensions: number, distance: 'Cosine' | 'Dot', signal: AbortSignal): Promise<void> {
    const body = { vectors: { size: dimensions, distance }, on_disk_payload: true };
    await this.#ask({ method: 'PUT', path: '', body }, signal);
  }

  /** Resolves once they can be found. */
  async put(points: readonly Point[], signal: AbortSignal): Promise<void> {
    await this.#ask({ method: 'PUT', path: '/points?wait=true', body: { points } }, signal);
  }

  /** Payloads of the points that exist, by id. */
  async payloads(
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Payload>> {
    const body = { ids, with_payload: true, with_vector: false };
    const found = await this.#ask({ path: '/points', body }, signal);
    const points = listIn(found) as readonly { id: string | number; payload?: Payload | null }[];
    return new Map(points.map(({ id, payload }) => [String(id), payload ?? {}]));
  }

  /** The payload of any point; null if there is none. */
  async anyPayload(signal: AbortSignal): Promise<Payload | null> {
    const body = { limit: 1, with_payload: true, with_vector: false };
    const found = await this.#ask({ path: '/points/scroll', body }, signal);
    const [first] = listIn((found as { points?: unknown } | null)?.points);
    return first === undefined ? null : ((first as { payload?: Payload | null }).payload ?? {});
  }

  /** The points that are nearest to each vector, best first. */
  async nearest(
    vectors: readonly (readonly number[])[],
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly (readonly ScoredPoint[])[]> {
    const searches = vectors.map((query) => ({ query, limit, with_payload: true }));
    const found = await this.#ask({ path: '/points/query/batch', body: { searches } }, signal);
    return listIn(found).map((one) => {
      const points = listIn((one as { points?: unknown } | null)?.points);
      return points.map((point) => {
        const { score, payload } = point as { score: number; payload?: Payload | null };
        return { score, payload: payload ?? {} };
      });
    });
  }

  close(): void {
    this.#exchange.close();
  }

  /** The `result` of the reply. `absent`: null if there is nothing (404). */
  async #ask(
    { method, path, body }: Request,
    signal: AbortSignal,
    { absent = false } = {},
  ): Promise<unknown> {
    const { key, clock } = this.#options;
    const request = {
      url: `${this.#address}${path}`,
      headers: {
        'content-type': 'application/json',
        ...(key === '' ? {} : { 'api-key': key }),
      },
      ...(method === undefined ? {} : { method }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    for (let tries = 1; ; tries++) {
      let waitMs: number | null = null;
      let reason: string;
      try {
        const reply = await this.#exchange.ask(request, signal);
        if (reply.ok) return (JSON.parse(reply.text()) as { result?: unknown }).result ?? null;
        if (absent && reply.status === 404) return null;
        reason = `HTTP ${reply.status}: ${saidByQdrant(reply.text())}`;
        if (!AGAIN.includes(reply.status)) {
          throw new MillraceError('QDRANT', `${this.#address} answers ${reason}`);
        }
        waitMs = retryAfterMs(reply.header('retry-after'), clock.now());
      } catch (error) {
        if (!(error instanceof NoReply)) throw error;
        reason = error.message;
      }
      if (tries >= TRIES_MAX)
        throw toolDown('search', `${this.#address} does not answer: ${reason}`);
      await clock.sleep(Math.min(waitMs ?? RETRY_DELAY_MS * tries, WAIT_MAX_MS), signal);
    }
  }
}

/** `status.error` says what is wrong. */
function saidByQdrant(reply: string): string {
  try {
    const { status } = JSON.parse(reply) as { status?: unknown };
    return saidIn(JSON.stringify(status));
  } catch {
    return saidIn(reply);
  }
}

function listIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new MillraceError(
    'QDRANT',
    `Qdrant’s reply does not match its documentation: ${saidIn(JSON.stringify(value) ?? '')}`,
  );
}
