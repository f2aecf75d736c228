/**
 * The time in which no server is there, told to the person who watches: a line that counts, and one when it is over.
 */
import type { SleepClock } from '../../base/sleepClock.ts';

const LINE_EVERY_MS = 15_000;

export interface AbsenceOptions {
  readonly clock: SleepClock;
  /** How long it may last. */
  readonly maxMs: number;
  readonly report: (line: string) => void;
}

export class Absence {
  readonly #options: AbsenceOptions;
  #sinceMs: number | null = null;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(options: AbsenceOptions) {
    this.#options = options;
  }

  /** Some request found nobody there, and waits. */
  goesOn(reason: string): void {
    const { clock, maxMs, report } = this.#options;
    const nowMs = clock.now();
    this.#sinceMs ??= nowMs;
    if (nowMs - this.#toldMs < LINE_EVERY_MS) return;
    this.#toldMs = nowMs;
    const seconds = Math.round((nowMs - this.#sinceMs) / 1000);
    report(
      `no model server has answered for ${seconds} s (${reason}); requests wait up to ${Math.round(maxMs / 1000)} s`,
    );
  }

  /** Somebody answered. */
  ended(): void {
    if (this.#sinceMs === null) return;
    const seconds = Math.round((this.#options.clock.now() - this.#sinceMs) / 1000);
    this.#options.report(`a model server answers again, after ${seconds} s`);
    this.#sinceMs = null;
    this.#toldMs = Number.NEGATIVE_INFINITY;
  }
}
