/**
 * The reward that an agent posts: `{"value": 1, "reason": "all tests pass"}`, plus its time if that is not
 * now: `"at": "2026-11-26T09:00:00Z"`.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { RewardSent } from '../conversation.ts';
import { fieldsAt, invalid, kindOf, textAt } from '../protocols/reading.ts';

const REASON_MAX = 2_000;
const KEY_MAX = 200;

/** Throws a `GatewayRefusal`. */
export function rewardAt(body: unknown): { value: number; reason: string; atMs: number | null } {
  const { value, reason = '', at } = fieldsAt(body, '');
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    const is = value === undefined ? 'is missing' : `is ${kindOf(value)}`;
    throw invalid('value', `${is}; it must be a number`);
  }
  const said = textAt(reason, 'reason');
  if (said.length > REASON_MAX) throw invalid('reason', `is longer than ${REASON_MAX} characters`);
  return { value, reason: said, atMs: timeAt(at) };
}

/** Null if none is given. */
function timeAt(at: unknown): number | null {
  if (at === undefined || at === null) return null;
  const ms = typeof at === 'string' ? Date.parse(at) : at;
  if (typeof ms !== 'number' || !Number.isFinite(ms)) {
    throw invalid('at', 'is not a time: write it like 2026-11-26T09:00:00Z, or in milliseconds');
  }
  return ms;
}

/** The name that a request gives itself, to be recognised when it is sent again; empty = none. */
export function nameOf(headers: IncomingHttpHeaders): string {
  const name = String(headers['idempotency-key'] ?? '').replace(/^"|"$/g, '');
  return name.length <= KEY_MAX ? name : digestOf(name);
}

/** How a reward was sent; without a name of its own it is identified by its content. */
export function sentWith(
  headers: IncomingHttpHeaders,
  { value, reason, atMs }: ReturnType<typeof rewardAt>,
): RewardSent {
  const name = nameOf(headers);
  const said = JSON.stringify([value, reason, atMs]);
  return { key: name === '' ? digestOf(said).slice(0, 32) : name, atMs };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
