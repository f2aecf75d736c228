/**
 * What the page's server sends: every answer has headers that let a browser display it and nothing more.
 */
import type { ServerResponse } from 'node:http';
import { hasCode, MillraceError } from '../../../base/index.ts';
import type { ErrorBody } from '../../wire/index.ts';

export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types millrace',
].join('; ');

/** On every answer. */
export const safety: Readonly<Record<string, string>> = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};

/** What must not be cached. */
const fresh = { 'cache-control': 'no-store' };

export type Body = string | Uint8Array;

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Body;
  readonly headers?: Readonly<Record<string, string>>;
}

export const JSON_TYPE = 'application/json; charset=utf-8';
export const HTML_TYPE = 'text/html; charset=utf-8';

export function json(value: unknown, status = 200): Answer {
  return { status, type: JSON_TYPE, body: JSON.stringify(value) };
}

export function send(to: ServerResponse, { status, type, body, headers = {} }: Answer): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  to.writeHead(status, {
    ...safety,
    ...fresh,
    'content-type': type,
    'content-length': bytes.byteLength,
    ...headers,
  });
  // Node leaves the body out if only the head was requested.
  to.end(bytes);
}

/** The HTTP status for each code; anything else is the server's fault. */
const statuses: Readonly<Record<string, number>> = {
  NO_RUN: 404,
  NOT_FOUND: 404,
  NO_TOPIC: 404,
  NO_LOG: 404,
  USAGE: 400,
  DAMAGED: 422,
  RUN_RECORD: 422,
  NOT_RUNNING: 409,
  RECOMPUTING: 409,
  BUSY: 503,
  CLOSED: 503,
};

export function errorAnswer(error: unknown): Answer {
  if (!(error instanceof MillraceError)) {
    return json(errorBody('INTERNAL', 'internal error; see the server’s terminal'), 500);
  }
  const { code, message } = error;
  return json(errorBody(code, message), statuses[code] ?? (hasCode(error, 'DECODE') ? 422 : 503));
}

export function errorBody(code: string, message: string): ErrorBody {
  return { error: { code, message } };
}
