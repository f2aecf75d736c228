/**
 * Which keys a topic has had recently, for any kind of log.
 *
 * Filled from the topic itself, so it knows what is in the log and nothing else, whenever the process was
 * killed. At least the newest `max` keys are known, at most twice as many: there are two generations of them,
 * and when the younger is full the older is forgotten. A key takes 16 to 32 bytes: 64 bits of its SHA-256 in
 * a table that is half empty. Among ten million keys the chance that a new one is mistaken for an old one is
 * about one in 400,000.
 */
import { createHash } from 'node:crypto';
import type { Log } from './log.ts';
import { recordsOf } from './recordsOf.ts';
import type { Topic } from './topic.ts';

export class RecentKeys {
  readonly #max: number;
  #young = new KeyTable();
  #old = new KeyTable();

  constructor(max: number) {
    this.#max = max;
  }

  /** The keys of the last `max` records of a topic. */
  static async of<T>(log: Log, topic: Topic<T>, max: number): Promise<RecentKeys> {
    const keys = new RecentKeys(max);
    const from = { kind: 'last', count: max } as const;
    for await (const { key } of recordsOf(log, topic, { from })) keys.add(key);
    return keys;
  }

  has(key: string): boolean {
    const bits = bitsOf(key);
    return this.#young.has(bits) || this.#old.has(bits);
  }

  add(key: string): void {
    const bits = bitsOf(key);
    if (this.#young.has(bits)) return;
    this.#young.add(bits);
    if (this.#young.size < this.#max) return;
    this.#old = this.#young;
    this.#young = new KeyTable();
  }
}

/** Zero marks an empty place in the table, so it is not a key. */
function bitsOf(key: string): bigint {
  return createHash('sha256').update(key).digest().readBigUInt64LE() || 1n;
}

const PLACES_MIN = 1024;

/** A set of 64-bit numbers: open addressing, at most half full. */
class KeyTable {
  #places = new BigUint64Array(PLACES_MIN);
  size = 0;

  has(bits: bigint): boolean {
    return this.#places[this.#placeOf(bits)] === bits;
  }

  add(bits: bigint): void {
    this.#places[this.#placeOf(bits)] = bits;
    this.size += 1;
    if (this.size * 2 <= this.#places.length) return;
    const before = this.#places;
    this.#places = new BigUint64Array(before.length * 2);
    for (const kept of before) if (kept !== 0n) this.#places[this.#placeOf(kept)] = kept;
  }

  /** Where it is, or where there is room for it. */
  #placeOf(bits: bigint): number {
    const last = this.#places.length - 1;
    let place = Number(bits & BigInt(last));
    while (this.#places[place] !== 0n && this.#places[place] !== bits) place = (place + 1) & last;
    return place;
  }
}
