/**
 * How our services answer in JSON, and how they refuse: a status, a sentence, the wrong field if there is
 * one, and when to try again if that helps.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface RefusalDetails {
  /** The wrong part of the request. */
  readonly field?: string;
  /** When to try again. */
  readonly retrySeconds?: number;
  /** The allowed methods, with status 405. */
  readonly allow?: string;
}

/** An answer that is not 200. */
export class Refusal extends Error {
  readonly status: number;
  readonly details: RefusalDetails;

  constructor(status: number, message: string, details: RefusalDetails = {}) {
    super(message);
    this.status = status;
    this.details = details;
  }
}

/** Sends it, and drops the unread part of the request. */
export function refuse(from: IncomingMessage, to: ServerResponse, refusal: Refusal): void {
  const { status, message, details } = refusal;
  const { field, retrySeconds, allow } = details;
  if (retrySeconds !== undefined) to.setHeader('retry-after', String(retrySeconds));
  if (allow !== undefined) to.setHeader('allow', allow);
  if (status === 413) to.setHeader('connection', 'close');
  sendJson(to, status, { error: message, ...(field === undefined ? {} : { field }) });
  if (!from.complete) from.resume();
}

export function sendJson(to: ServerResponse, status: number, body: unknown): void {
  to.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  to.end(`${JSON.stringify(body)}\n`);
}
