/**
 * The HTTP status of each refusal, chosen so that no SDK retries what cannot succeed, and the form OpenAI's
 * protocols give it.
 *
 * Some SDKs retry the obvious statuses 401, 409 and 422, up to seven times; none that reads `x-should-retry`
 * retries 404 or 400, and others do so at most once.
 */
import type { GatewayRefusal, RefusalKind } from '../conversation.ts';
import type { Failed } from './protocol.ts';

export const STATUS: Readonly<Record<RefusalKind, number>> = {
  invalid: 400,
  key: 404,
  ended: 404,
  limit: 404,
  context: 400,
  size: 413,
  unavailable: 429,
  failed: 500,
};

/** Some SDKs ignore more than a minute, others wait that long. */
const RETRY_SECONDS = 5;

const AGAIN: readonly RefusalKind[] = ['unavailable', 'failed'];

/** Headers that say whether to try again. */
export function retryHeaders({ kind }: GatewayRefusal): Readonly<Record<string, string>> {
  if (kind === 'unavailable') return { 'retry-after': String(RETRY_SECONDS) };
  return AGAIN.includes(kind) ? {} : { 'x-should-retry': 'false' };
}

const CODES: Readonly<Record<RefusalKind, string | null>> = {
  invalid: null,
  key: 'unknown_session',
  ended: 'session_ended',
  limit: 'limit_reached',
  context: 'context_length_exceeded',
  size: 'request_too_large',
  unavailable: 'unavailable',
  failed: 'internal_error',
};

/** `error` as OpenAI's protocols write it. */
export function openAiError({
  kind,
  message,
  at,
}: GatewayRefusal): Readonly<Record<string, unknown>> {
  const type = AGAIN.includes(kind) ? 'server_error' : 'invalid_request_error';
  return { message, type, param: at === '' ? null : at, code: CODES[kind] };
}

export function openAiFailed(refusal: GatewayRefusal): Failed {
  return {
    status: STATUS[refusal.kind],
    headers: retryHeaders(refusal),
    body: { error: openAiError(refusal) },
  };
}
