/**
 * Limits how fast requests follow each other: evenly spaced turns, no bursts.
 */
import type { SleepClock } from './sleepClock.ts';

export class RateLimit {
  readonly #clock: SleepClock;
  readonly #intervalMs: number;
  #nextMs = Number.NEGATIVE_INFINITY;

  /** `perMinute` requests a minute; 0 = no limit. */
  constructor(perMinute: number, clock: SleepClock) {
    if (!(perMinute >= 0))
      throw new RangeError(`requests per minute must be 0 or more, not ${perMinute}`);
    this.#intervalMs = perMinute === 0 ? 0 : 60_000 / perMinute;
    this.#clock = clock;
  }

  /** Resolves when it is the caller's turn. */
  async turn(signal: AbortSignal): Promise<void> {
    if (this.#intervalMs === 0) return;
    const nowMs = this.#clock.now();
    const atMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = atMs + this.#intervalMs;
    if (atMs > nowMs) await this.#clock.sleep(atMs - nowMs, signal);
  }
}
