/**
 * How long an engine takes per token of a request, depending on how many requests it has at once. Known from
 * the rollouts of a run: when they began and ended, how many tokens each turn has and how long each call
 * took.
 *
 * When a turn began is unknown, and so is how many others the engine had at that time. The time that a
 * rollout spent in the engine is divided among its turns, at first by their tokens, then by the times found
 * so far, until these no longer change.
 */
import { type Line, line } from './line.ts';
import type { Turn } from './samples.ts';

/** A rollout and its time. */
export interface Timed {
  readonly startMs: number;
  readonly endMs: number;
  readonly turns: readonly Turn[];
}

/** A turn in the engine. */
interface Stay {
  readonly tokens: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** How often to repeat; the times hardly change after half of it. */
const PASSES = 8;

/** Milliseconds per token by requests at once. */
export function decoding(rollouts: readonly Timed[]): Line {
  let found: Line = { at0: 1, slope: 0 };
  let crowds = rollouts.map(({ turns }) => turns.map(() => 1));
  for (let pass = 0; pass < PASSES; pass++) {
    const stays = rollouts.map((rollout, i) => staysOf(rollout, crowds[i]!, found));
    const crowdOf = crowdIn(stays.flat());
    crowds = stays.map((turns) => turns.map(crowdOf));
    const points = stays.flatMap((turns, i) => {
      const tokens = sum(turns.map((turn) => turn.tokens));
      if (tokens === 0) return [];
      const x = sum(turns.map((turn, k) => turn.tokens * crowds[i]![k]!)) / tokens;
      return [{ x, y: sum(turns.map(lengthOf)) / tokens, weight: tokens }];
    });
    found = line(points);
  }
  return found;
}

function staysOf({ startMs, endMs, turns }: Timed, crowd: readonly number[], { at0, slope }: Line) {
  const calls = turns.map(({ call }) => 1000 * (call?.seconds ?? 0));
  const engineMs = Math.max(0, endMs - startMs - sum(calls));
  const parts = turns.map(({ tokens }, k) => tokens * (at0 + slope * crowd[k]!));
  const all = sum(parts);
  let atMs = startMs;
  return turns.map(({ tokens }, k): Stay => {
    const fromMs = atMs;
    const toMs = fromMs + (all === 0 ? 0 : (engineMs * parts[k]!) / all);
    atMs = toMs + calls[k]!;
    return { tokens, fromMs, toMs };
  });
}

function lengthOf({ fromMs, toMs }: Stay): number {
  return toMs - fromMs;
}

/** Mean number of concurrent stays during one of them, including itself. */
function crowdIn(stays: readonly Stay[]): (stay: Stay) => number {
  const events = stays
    .flatMap(({ fromMs, toMs }) => [[fromMs, 1] as const, [toMs, -1] as const])
    .toSorted(([a], [b]) => a - b);
  /** Requests times milliseconds up to each moment at which one comes or goes. */
  const areas = new Map<number, number>();
  let [count, area, lastMs] = [0, 0, events[0]?.[0] ?? 0];
  for (const [atMs, more] of events) {
    area += count * (atMs - lastMs);
    count += more;
    lastMs = atMs;
    areas.set(atMs, area);
  }
  return (stay) => {
    const length = lengthOf(stay);
    if (length <= 0) return 1;
    return Math.max(1, (areas.get(stay.toMs)! - areas.get(stay.fromMs)!) / length);
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}
