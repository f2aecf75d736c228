/**
 * Time that passes only when nothing is left to do: the clock of a simulated world.
 *
 * Everything that takes time in the world sleeps on this clock. `run` lets all that can run do so (promises,
 * ticks and immediates: nothing here waits for a timer, a file or a socket), then wakes the one sleeper whose
 * time comes next, and so on. Sleepers of one moment are woken in an order that is drawn by the seed. So the
 * same seed gives the same order of everything, and a year takes as long as what happens in it.
 */
import { draws, type SleepClock } from '../../base/index.ts';

/** Why `run` ended: as asked, or nothing sleeps and so nothing will ever happen again. */
export type RunEnd = 'done' | 'nothing';

interface Sleeper {
  readonly atMs: number;
  /** Random: the order among those of one moment. */
  readonly turn: number;
  readonly number: number;
  wake: (() => void) | null;
}

export class VirtualClock implements SleepClock {
  readonly #turns: ReturnType<typeof draws>;
  /** A heap, the next one first. */
  readonly #sleepers: Sleeper[] = [];
  #nowMs: number;
  #count = 0;
  /** How many sleepers were woken. */
  woken = 0;

  constructor(seed: number, startMs = Date.UTC(2026, 0, 1)) {
    this.#turns = draws('turn', seed);
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const cancel = this.at(this.#nowMs + Math.max(0, ms), () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
      const abort = (): void => {
        cancel();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Calls `wake` at this time, unless the returned function is called before. */
  at(atMs: number, wake: () => void): () => void {
    const number = this.#count++;
    const sleeper: Sleeper = { atMs, turn: this.#turns.uniform(number), number, wake };
    push(this.#sleepers, sleeper);
    return () => {
      sleeper.wake = null;
    };
  }

  /** Runs until `done`, which is called whenever nothing can run. */
  async run(done: () => boolean): Promise<RunEnd> {
    for (;;) {
      await everythingElse();
      if (done()) return 'done';
      const next = this.#next();
      if (next === null) return 'nothing';
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      this.woken += 1;
      next.wake?.();
    }
  }

  /** The next one that still sleeps. */
  #next(): Sleeper | null {
    for (;;) {
      const next = pop(this.#sleepers);
      if (next === undefined) return null;
      if (next.wake !== null) return next;
    }
  }
}

/** Resolves after all current promises, ticks and immediates, and whatever they lead to at once. */
function everythingElse(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function before(a: Sleeper, b: Sleeper): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  if (a.turn !== b.turn) return a.turn < b.turn;
  return a.number < b.number;
}

function push(heap: Sleeper[], sleeper: Sleeper): void {
  heap.push(sleeper);
  let at = heap.length - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    if (!before(heap[at]!, heap[above]!)) return;
    [heap[at], heap[above]] = [heap[above]!, heap[at]!];
    at = above;
  }
}

function pop(heap: Sleeper[]): Sleeper | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return first;
  heap[0] = last;
  let at = 0;
  for (;;) {
    let least = at;
    for (const below of [2 * at + 1, 2 * at + 2]) {
      if (below < heap.length && before(heap[below]!, heap[least]!)) least = below;
    }
    if (least === at) return first;
    [heap[at], heap[least]] = [heap[least]!, heap[at]!];
    at = least;
  }
}
