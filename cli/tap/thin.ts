/**
 * Fewer records than there are: a share of the keys (`--sample`), and so many a second (`--rate`).
 *
 * A sample is drawn by the digest of what a record is about, so it is the same in every topic and every run. A rate
 * drops what comes too fast; nothing waits for its turn.
 */

import type { Clock } from '../../base/clock.ts';
import { draws } from '../../base/draws.ts';
import type { Stored } from '../../streams/log.ts';
import { usageError } from '../failure.ts';

/** Whether a record is taken. */
export type Thin = (stored: Stored<unknown>) => boolean;

/** `0.1`, `10%` or `1/10`. */
export function sample(text: string): Thin {
  const share = shareIn(text);
  return (stored) => draws('tap sample', subjectOf(stored)).uniform(0) < share;
}

function shareIn(text: string): number {
  const [, number, of] = /^(\d*\.?\d+)(%|\/\d+)?$/.exec(text) ?? [];
  const divisor = of === undefined ? 1 : of === '%' ? 100 : Number(of.slice(1));
  const share = Number(number) / divisor;
  if (share > 0 && share <= 1) return share;
  throw usageError(`--sample takes a share of the keys: 0.1, 10% or 1/10; given: ${text}`);
}

/** The question, where a record is about one but has another key (tool calls). */
function subjectOf({ key, value }: Stored<unknown>): string {
  const { questionId } = (value ?? {}) as { readonly questionId?: unknown };
  return typeof questionId === 'string' ? questionId : key;
}

const unitMs: Readonly<Record<string, number>> = { s: 1e3, m: 60e3, h: 3600e3 };
/** After a silence so much of a second's worth may come at once. */
const BURST_SECONDS = 0.1;

/** `50/s`, `50` (a second), `600/m` or `10/h`. */
export function rate(text: string, clock: Clock): Thin {
  const [, number, unit = 's'] = /^(\d*\.?\d+)(?:\/([smh]))?$/.exec(text) ?? [];
  const perMs = Number(number) / unitMs[unit]!;
  if (!(perMs > 0)) {
    throw usageError(`--rate takes so many records a second: 50/s, also 600/m; given: ${text}`);
  }
  const roomMax = Math.max(1, perMs * 1000 * BURST_SECONDS);
  let room = roomMax;
  let lastMs = clock.now();
  return () => {
    const nowMs = clock.now();
    room = Math.min(roomMax, room + (nowMs - lastMs) * perMs);
    lastMs = nowMs;
    if (room < 1) return false;
    room -= 1;
    return true;
  };
}
