/**
 * A retriever over HTTP: the routes of wire.ts, `/health` as the papers' server has it, `/healthz` (the process works), `/readyz`
 * (queries are answered) and `/metrics` for Prometheus.
 *
 * It listens at once and answers queries when the retriever is open. Holds true: at most as many queries wait as may wait, more are
 * answered 429; a request ends within its time limit; requests are of bounded size. When it is told to end it answers what it has
 * taken, and nothing new.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { hasCode, MillraceError, messageOf } from '../../base/errors.ts';
import { admit, isLoopback } from '../../base/http/admit.ts';
import { BodyReader } from '../../base/http/bodyReader.ts';
import { type Listening, listenOn } from '../../base/http/listenOn.ts';
import { Refusal, refuse, sendJson } from '../../base/http/refusal.ts';
import { keepSecret, withoutSecrets } from '../../base/secrets.ts';
import type { SleepClock } from '../../base/sleepClock.ts';
import { Batches } from '../../operators/tools/retrieval/batches.ts';
import type { Retriever } from '../../operators/tools/retrieval/retriever.ts';
import { answerTo, askedIn, type Route, routes } from '../../operators/tools/retrieval/wire.ts';
import { CONTENT_TYPE } from '../../summary/prometheus/exposition.ts';
import { usageError } from '../failure.ts';
import { type ServiceMetrics, serviceMetrics } from './serviceMetrics.ts';

export interface ServiceOptions {
  readonly host: string;
  /** 0 = any that is free. */
  readonly port: number;
  /** Asked of every query as `Authorization: Bearer …`; '' = none; null = none, and everybody may ask. */
  readonly token: string | null;
  /** Passages where a request does not say how many. */
  readonly top: number;
  readonly timeoutMs: number;
  /** Queries that are answered together at most. */
  readonly batchMax: number;
  /** Batches at once. */
  readonly batchesMax: number;
  /** Queries that may wait. */
  readonly waitingMax: number;
  readonly clock: SleepClock;
  /** Told of what nobody foresaw. */
  readonly failed: (error: unknown) => void;
}

export interface RetrieverService {
  readonly url: string;
  /** From now on queries are answered; the service owns it. */
  opened(retriever: Retriever): void;
  /** Answers what was taken, nothing new; then closes the retriever. */
  end(): Promise<void>;
}

const TOP_MAX = 1000;
const QUERIES_MAX = 512;
const BYTES_MAX = 4 * 1024 * 1024;
const CONNECTIONS_MAX = 2048;
/** Requests of which the body is being read. */
const READING_MAX = 64;
const WAIT_MS = 10_000;
/** Answers that are kept; the papers' server keeps as many. */
const KEPT_MAX = 1000;

/** Fails as a wrong command line where nobody can listen there, or everybody could ask without being told so. */
export async function serveRetriever(options: ServiceOptions): Promise<RetrieverService> {
  const { host, port, token } = options;
  if (token !== null) keepSecret(token);
  if (token === '' && !isLoopback(host)) {
    throw usageError(
      `others can reach ${host}: put a token into MILLRACE_RETRIEVER_TOKEN (clients send it as Authorization: Bearer …), or say --no-token where everybody who reaches it may ask`,
    );
  }
  const service = new Service(options);
  const listening = await listenOn(
    { host, port, connectionsMax: CONNECTIONS_MAX, waitMs: WAIT_MS },
    (from, to) => {
      service.answer(from, to).catch(() => to.destroy());
    },
  ).catch((error: unknown) => {
    throw usageError(`cannot serve at ${host}:${port}: ${messageOf(error)}; give another --port`);
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
    // A connection that is kept would keep the service from ending.
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

  /** Everything but queries: read by GET, without a token. */
  async #look(path: string, from: IncomingMessage, to: ServerResponse): Promise<void> {
    try {
      admit(from.headers, { host: this.#options.host, token: '' });
    } catch (error) {
      return refuse(from, to, error as Refusal);
    }
    if (from.method !== 'GET' && from.method !== 'HEAD') {
      const there = `here are POST ${routes.join(', ')} and GET /healthz, /readyz, /health, /metrics`;
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
          new Refusal(404, 'here are /healthz, /readyz, /health and /metrics; queries are posted'),
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
      throw new Refusal(405, `queries are posted to ${route}`, { allow: 'POST' });
    }
    const open = this.#open;
    if (open === null || !this.#ready) {
      const why = this.#ending ? 'the service is ending' : 'the index is being opened';
      throw new Refusal(503, `${why}; ask again later`, { retrySeconds: 1 });
    }
    const full = (): Refusal => busy('as many requests as may are being read');
    const body = await this.#bodies.read(from, BYTES_MAX, full);
    const asked = askedIn(json(body), route, { top, topMax: TOP_MAX, queriesMax: QUERIES_MAX });
    const call = new AbortController();
    const gone = (): void => call.abort(new Refusal(499, 'the client went away'));
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
    // What the retriever asks in turn is away.
    if (hasCode(error, 'TOOL_DOWN')) return new Refusal(503, error.message, { retrySeconds: 5 });
    this.#options.failed(error);
    const said =
      error instanceof MillraceError
        ? error.message
        : 'something went wrong; the terminal says what';
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
    throw new Refusal(400, `the body is no JSON: ${messageOf(error)}`);
  }
}

/** As it may be shown on a terminal. */
export function shownError(error: unknown): string {
  return withoutSecrets(inspect(error));
}
