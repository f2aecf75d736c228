/** Decoded records, kept for those who read a log several times; the oldest go first. */
import type { Stored } from '../log.ts';

export class Remembered {
  readonly #records = new Map<string, Stored<unknown>>();
  readonly #bytesMax: number;
  #bytes = 0;

  /** `bytesMax` counts records as they are stored; decoded, they take several times as much. 0 = none are kept. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The record at a place, which `read` reads if it is not there. */
  at<T>(topic: string, offset: number, read: () => Stored<T>): Stored<T> {
    if (this.#bytesMax === 0) return read();
    const place = `${topic}@${offset}`;
    const known = this.#records.get(place);
    if (known !== undefined) return known as Stored<T>;
    const record = read();
    this.#records.set(place, record);
    this.#bytes += record.bytes;
    for (const [oldest, { bytes }] of this.#records) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#records.delete(oldest);
      this.#bytes -= bytes;
    }
    return record;
  }
}
