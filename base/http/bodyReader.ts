/**
 * Reads request bodies, a bounded number at once. A stalled one gives way to another, so that an incomplete
 * body blocks nobody.
 */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../clock.ts';
import { postedBody } from './postedBody.ts';
import { Refusal } from './refusal.ts';

/** Long enough for a megabyte on any usable connection. */
const PATIENCE_MS = 2_000;

export class BodyReader {
  readonly #most: number;
  readonly #clock: Clock;
  /** When each started, oldest first. */
  readonly #reading = new Map<IncomingMessage, number>();

  /** `most` = the limit of bodies at once. */
  constructor(most: number, clock: Clock) {
    this.#most = most;
    this.#clock = clock;
  }

  /** Rejects like `postedBody`, and with `busy` if all the others have only just started. */
  async read(from: IncomingMessage, bytesMax: number, busy: () => Refusal): Promise<string> {
    const nowMs = this.#clock.now();
    const [oldest] = this.#reading;
    if (oldest !== undefined && this.#reading.size >= this.#most) {
      const [slow, sinceMs] = oldest;
      if (nowMs - sinceMs < PATIENCE_MS) throw busy();
      this.#reading.delete(slow);
      slow.destroy(new Refusal(408, 'the body stopped arriving'));
    }
    this.#reading.set(from, nowMs);
    try {
      return await postedBody(from, bytesMax);
    } finally {
      this.#reading.delete(from);
    }
  }
}
