/**
 * A small HTTP server for monitoring a run: `/metrics` for Prometheus, `/healthz` and `/readyz` for process
 * managers. Read-only (GET and HEAD), few connections, short waits; it says nothing secret.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { admit, listenOn, type Refusal, refuse } from '../../base/http/index.ts';
import { messageOf } from '../../base/index.ts';
import { CONTENT_TYPE } from '../../summary/prometheus/index.ts';
import { usageError } from '../failure.ts';

/** Where to listen. Port 0 = any that is free. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Yes or no, and a word of explanation. */
export interface Verdict {
  readonly ok: boolean;
  readonly why: string;
}

export interface Answers {
  metrics(): Promise<string>;
  /** Whether the process works; if not, it should be restarted. */
  health(): Verdict;
  /** Whether it does its job. */
  ready(): Verdict;
}

export interface MetricsServer {
  /** Of `/metrics`. */
  readonly url: string;
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 64;
const WAIT_MS = 10_000;

/** Fails with code `USAGE` when it cannot listen there. */
export async function serveMetrics(
  { host, port }: Address,
  answers: Answers,
): Promise<MetricsServer> {
  // An error after the start: the run goes on without it.
  const server = await listenOn(
    { host, port, connectionsMax: CONNECTIONS_MAX, waitMs: WAIT_MS },
    (from, to) => {
      admitted(from, to, host);
      if (!to.headersSent) answer(from, to, answers).catch(() => to.destroy());
    },
  ).catch((error: unknown) => {
    throw usageError(`cannot serve metrics at ${host}:${port}: ${messageOf(error)}`);
  });
  server.unref();
  return { url: `${server.url}/metrics`, close: () => server.close() };
}

/** Anyone who reaches it may read it, except a web page in someone's browser. */
function admitted(from: IncomingMessage, to: ServerResponse, host: string): void {
  try {
    admit(from.headers, { host, token: '' });
  } catch (error) {
    refuse(from, to, error as Refusal);
  }
}

async function answer(
  { method, url }: IncomingMessage,
  to: ServerResponse,
  answers: Answers,
): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') {
    to.setHeader('allow', 'GET, HEAD');
    return send(to, 405, 'only GET and HEAD are allowed\n');
  }
  switch (url?.split('?')[0]) {
    case '/metrics':
      return send(to, 200, await answers.metrics(), CONTENT_TYPE);
    case '/healthz':
      return verdict(to, answers.health());
    case '/readyz':
      return verdict(to, answers.ready());
    default:
      return send(to, 404, 'not found; this server has /metrics, /healthz and /readyz\n');
  }
}

function verdict(to: ServerResponse, { ok, why }: Verdict): void {
  send(to, ok ? 200 : 503, `${why}\n`);
}

function send(
  to: ServerResponse,
  code: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  const body = Buffer.from(text);
  to.writeHead(code, {
    'content-type': type,
    'content-length': body.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'",
  });
  // Node omits the body of an answer to HEAD.
  to.end(body);
}
