/**
 * A retriever over HTTP: the routes of wire.ts, `/health` as the papers' server has it, `/healthz` (the
 * process works), `/readyz` (it answers queries) and `/metrics` for Prometheus.
 *
 * It listens at once and answers queries once the retriever is open. Guarantees: the queue is bounded, and a
 * query beyond it gets status 429; a request ends within its time limit; requests have a maximum size. On
 * shutdown it finishes accepted requests and takes no new ones.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import {
  admit,
  BodyReader,
  isLoopback,
  type Listening,
  listenOn,
  Refusal,
  refuse,
  sendJson,
} from '../../base/http/index.ts';
import {
  hasCode,
  keepSecret,
  MillraceError,
  messageOf,
  type SleepClock,
  withoutSecrets,
} from '../../base/index.ts';
import {
  answerTo,
  askedIn,
  Batches,
  type Retriever,
  type Route,
  routes,
} from '../../operators/tools/retrieval/index.ts';
import { CONTENT_TYPE } from '../../summary/prometheus/index.ts';
import { usageError } from '../failure.ts';
import { type ServiceMetrics, serviceMetrics } from './serviceMetrics.ts';

export interface ServiceOptions {
  readonly host: string;
  /** 0 = any that is free. */
  readonly port: number;
  /** Required of every query as `Authorization: Bearer …`; '' = none set; null = anyone may ask. */
  readonly token: string | null;
  /** Passages per query if the request does not say. */
  readonly top: number;
  readonly timeoutMs: number;
  /** Limit of queries per batch. */
  readonly batchMax: number;
  /** Concurrent batches. */
  readonly batchesMax: number;
  /** Limit of waiting queries. */
  readonly waitingMax: number;
  readonly clock: SleepClock;
  /** Called with unexpected errors. */
  readonly failed: (error: unknown) => void;
}

export interface RetrieverService {
  readonly url: string;
  /** From now on it answers queries; the service owns the retriever. */
  opened(retriever: Retriever): void;
  /** Finishes accepted requests, takes no new ones, then closes the retriever. */
  end(): Promise<void>;
}

const TOP_MAX = 1000;
const QUERIES_MAX = 512;
const BYTES_MAX = 4 * 1024 * 1024;
const CONNECTIONS_MAX = 2048;
/** Requests whose body is being read. */
const READING_MAX = 64;
const WAIT_MS = 10_000;
/** Number of cached answers, the same as in the papers' server. */
const KEPT_MAX = 1000;

/** Fails with code `USAGE` if it cannot listen there, or anyone could ask without a token or --no-token. */
export async function serveRetriever(options: ServiceOptions): Promise<RetrieverService> {
  const { host, port, token } = options;
  if (token !== null) keepSecret(token);
  if (token === '' && !isLoopback(host)) {
    throw usageError(
      `other machines can reach ${host}: set MILLRACE_RETRIEVER_TOKEN (clients send it as Authorization: Bearer …), or allow anyone with --no-token`,
    );
  }
  const service = new Service(options);
  const listening = await listenOn(
    { host, port, connectionsMax: CONNECTIONS_MAX, waitMs: WAIT_MS },
    (from, to) => {
      service.answer(from, to).catch(() => to.destroy());
    },
  ).catch((error: unknown) => {
    throw usageError(
      `cannot listen on ${host}:${port}: ${messageOf(error)}; choose another --port`,
    );
  });
  return {
    url: listening.url,
    opened: (retriever) => service.opened(retriever),
    end: () => service.end(listening),
  };
}

class Service {
  readonly #options: ServiceOptions;
  readonly #metrics: ServiceMetrics;
  /** Null until it is open. */
  #open: { readonly retriever: Retriever; readonly batches: Batches } | null = null;
  #ending = false;
  readonly #bodies: BodyReader;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#bodies = new BodyReader(READING_MAX, options.clock);
    this.#metrics = serviceMetrics(() => {
      const { retriever, batches } = this.#open ?? {};
      return {
        ready: this.#ready,
        passages: retriever?.passages ?? 0,
        waiting: batches?.waiting ?? 0,
        running: batches?.running ?? 0,
      };
    });
  }

  get #ready(): boolean {
    return this.#open !== null && !this.#ending;
  }

  opened(retriever: Retriever): void {
    const { batchMax, batchesMax, waitingMax } = this.#options;
    const bounds = { batchMax, batchesMax, waitingMax, keptMax: KEPT_MAX };
    const onBatch = (queries: number): void => this.#metrics.batch(queries);
    this.#open = { retriever, batches: new Batches(retriever, { ...bounds, onBatch }) };
  }

  async end(listening: Listening): Promise<void> {
    this.#ending = true;
    await listening.end();
    await this.#open?.retriever.close();
  }

  async answer(from: IncomingMessage, to: ServerResponse): Promise<void> {
    // A kept-alive connection would keep the service from ending.
    if (this.#ending) to.setHeader('connection', 'close');
    const path = from.url?.split('?')[0] ?? '';
    const route = routes.find((one) => one === path);
    if (route === undefined) return this.#look(path, from, to);
    const { clock } = this.#options;
    const startedMs = clock.now();
    try {
      const answer = await this.#answered(route, from, to);
      if (this.#ending) to.setHeader('connection', 'close');
      sendJson(to, 200, answer);
    } catch (error) {
      if (to.destroyed) return;
      refuse(from, to, this.#refusalOf(error));
    } finally {
      this.#metrics.answered(route, to.statusCode, (clock.now() - startedMs) / 1000);
    }
  }

  /** Everything except queries: GET, without a token. */
  async #look(path: string, from: IncomingMessage, to: ServerResponse): Promise<void> {
    try {
      admit(from.headers, { host: this.#options.host, token: '' });
    } catch (error) {
      return refuse(from, to, error as Refusal);
    }
    if (from.method !== 'GET' && from.method !== 'HEAD') {
      const there = `method not allowed; this server has POST ${routes.join(', ')} and GET /healthz, /readyz, /health, /metrics`;
      return refuse(from, to, new Refusal(404, there));
    }
    switch (path) {
      case '/metrics':
        to.writeHead(200, { 'content-type': CONTENT_TYPE, 'cache-control': 'no-store' });
        return void to.end(await this.#metrics.text());
      case '/healthz':
        return sendJson(to, 200, { status: 'ok' });
      case '/readyz':
      case '/health':
        return this.#health(path, to);
      default:
        return refuse(
          from,
          to,
          new Refusal(
            404,
            'not found; this server has /healthz, /readyz, /health and /metrics, and takes queries by POST',
          ),
        );
    }
  }

  #health(path: string, to: ServerResponse): void {
    const ready = this.#ready;
    const { batchesMax: total } = this.#options;
    const available = ready ? total - this.#open!.batches.running : 0;
    const why = this.#ending ? 'ending' : ready ? 'ready' : 'opening';
    const status = path === '/health' && ready ? 'healthy' : why;
    const passages = this.#open?.retriever.passages ?? 0;
    sendJson(to, ready ? 200 : 503, { status, passages, retrievers: { total, available } });
  }

  async #answered(route: Route, from: IncomingMessage, to: ServerResponse): Promise<unknown> {
    const { host, top, timeoutMs, clock } = this.#options;
    admit(from.headers, { host, token: this.#options.token ?? '' });
    if (from.method !== 'POST') {
      throw new Refusal(405, `send queries to ${route} by POST`, { allow: 'POST' });
    }
    const open = this.#open;
    if (open === null || !this.#ready) {
      const why = this.#ending ? 'the service is shutting down' : 'the index is still being opened';
      throw new Refusal(503, `${why}; try again later`, { retrySeconds: 1 });
    }
    const full = (): Refusal => busy('too many requests at once');
    const body = await this.#bodies.read(from, BYTES_MAX, full);
    const asked = askedIn(json(body), route, { top, topMax: TOP_MAX, queriesMax: QUERIES_MAX });
    const call = new AbortController();
    const gone = (): void => call.abort(new Refusal(499, 'the client disconnected'));
    to.once('close', gone);
    const late = (): void =>
      call.abort(new Refusal(504, `no answer within ${timeoutMs} ms`, { retrySeconds: 1 }));
    const done = new AbortController();
    clock.sleep(timeoutMs, done.signal).then(late, () => undefined);
    try {
      const { hits, kept } = await open.batches.ask(asked.queries, asked.top, call.signal);
      this.#metrics.queries(asked.queries.length, kept);
      return answerTo(asked, route, hits);
    } finally {
      to.off('close', gone);
      done.abort();
    }
  }

  #refusalOf(error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    if (hasCode(error, 'BUSY')) return busy(error.message);
    // The server behind the retriever is unavailable.
    if (hasCode(error, 'TOOL_DOWN')) return new Refusal(503, error.message, { retrySeconds: 5 });
    this.#options.failed(error);
    const said =
      error instanceof MillraceError ? error.message : 'internal error; see the server’s terminal';
    return new Refusal(500, said);
  }
}

function busy(why: string): Refusal {
  return new Refusal(429, why, { retrySeconds: 1 });
}

function json(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new Refusal(400, `the body is not valid JSON: ${messageOf(error)}`);
  }
}

/** Safe to show on a terminal. */
export function shownError(error: unknown): string {
  return withoutSecrets(inspect(error));
}
