/** Tool calls and verdicts of the last five minutes, counted in slots of ten seconds: bounded at any rate. */
import type { Clock } from '../../../base/index.ts';
import type { Selected, ToolCall } from '../../../topics/index.ts';
import type { Mill } from '../../wire/index.ts';

const SLOT_MS = 10_000;
const WINDOW_MS = 300_000;
/** Upper ends of the classes of durations: each a quarter more than the one before, from 1 ms to an hour. */
const CLASSES = Array.from({ length: 69 }, (_, i) => 1.25 ** i);

interface Slot {
  calls: number;
  failed: number;
  cached: number;
  judged: number;
  kept: number;
  /** Calls by class of duration. */
  readonly times: Uint32Array;
}

export class Recent {
  readonly #clock: Clock;
  readonly #slots = new Map<number, Slot>();
  readonly #sinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.now();
  }

  toolCall({ ok, cached, ms }: ToolCall): void {
    const slot = this.#slot();
    slot.calls += 1;
    if (cached) slot.cached += 1;
    else {
      const at = CLASSES.findIndex((end) => ms <= end);
      slot.times[at < 0 ? CLASSES.length - 1 : at]! += 1;
    }
    if (!ok) slot.failed += 1;
  }

  verdict({ kept }: Selected): void {
    const slot = this.#slot();
    slot.judged += 1;
    if (kept) slot.kept += 1;
  }

  get tools(): Mill['tools'] {
    const slots = this.#current();
    const calls = sum(slots, ({ calls }) => calls);
    if (calls === 0) return null;
    const seconds = Math.max(1, Math.min(WINDOW_MS, this.#clock.now() - this.#sinceMs) / 1000);
    return {
      perSecond: calls / seconds,
      failed: sum(slots, ({ failed }) => failed) / calls,
      cached: sum(slots, ({ cached }) => cached) / calls,
      p95Ms: p95(slots),
    };
  }

  get selection(): Mill['selection'] {
    const slots = this.#current();
    const judged = sum(slots, (slot) => slot.judged);
    return judged === 0 ? null : { judged, kept: sum(slots, ({ kept }) => kept) };
  }

  #slot(): Slot {
    const at = Math.floor(this.#clock.now() / SLOT_MS);
    const known = this.#slots.get(at);
    if (known !== undefined) return known;
    this.#current();
    const times = new Uint32Array(CLASSES.length);
    const slot = { calls: 0, failed: 0, cached: 0, judged: 0, kept: 0, times };
    this.#slots.set(at, slot);
    return slot;
  }

  #current(): readonly Slot[] {
    const first = Math.floor((this.#clock.now() - WINDOW_MS) / SLOT_MS);
    for (const at of this.#slots.keys()) if (at < first) this.#slots.delete(at);
    return [...this.#slots.values()];
  }
}

function sum(slots: readonly Slot[], of: (slot: Slot) => number): number {
  return slots.reduce((total, slot) => total + of(slot), 0);
}

/** The upper end of the class that it falls into. */
function p95(slots: readonly Slot[]): number | null {
  const counts = CLASSES.map((_, i) => sum(slots, ({ times }) => times[i]!));
  const all = counts.reduce((total, count) => total + count, 0);
  if (all === 0) return null;
  let below = 0;
  const at = counts.findIndex((count) => {
    below += count;
    return below >= 0.95 * all;
  });
  return Math.round(CLASSES[at]!);
}
