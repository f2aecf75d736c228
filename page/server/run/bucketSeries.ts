/**
 * One metric in bounded memory, for a run of any length: minimum, maximum, sum and count by bucket of steps.
 *
 * Bucket k holds the steps k·width … (k+1)·width − 1. When there are more buckets than `BUCKETS_MAX`,
 * neighbours merge and the width doubles; so what a bucket says depends on its steps alone, not on when they
 * came, and a bucket stays where it is as values are appended. A spike stays visible forever: it is some
 * bucket's minimum or maximum.
 */

export const BUCKETS_MAX = 4096;
const ODD_MAX = 100;
const ROOM_FIRST = 64;

/** One value of a metric, with what it can be plotted over. */
export interface Sample {
  readonly step: number;
  readonly atMs: number;
  /** Trained so far. */
  readonly tokens: number;
  readonly value: number;
}

/**
 * Some steps of a metric. `step` is the first of its values, `lastStep`, `atMs` and `tokens` are the last
 * one's.
 */
export interface Bucket {
  step: number;
  lastStep: number;
  atMs: number;
  tokens: number;
  min: number;
  max: number;
  sum: number;
  count: number;
}

const COLUMNS = 8;

export class BucketSeries {
  /** A bucket is `COLUMNS` numbers, in the order of `Bucket`. Grows up to `BUCKETS_MAX` buckets. */
  #room = new Float64Array(ROOM_FIRST * COLUMNS);
  #length = 0;
  #width = 1;
  readonly #max: number;
  /** Values that no axis can show, and the first steps that had them. */
  odd = 0;
  readonly oddSteps: number[] = [];
  /** Finite values. */
  count = 0;
  last: number | null = null;
  lastStep: number | null = null;

  constructor(bucketsMax = BUCKETS_MAX) {
    this.#max = bucketsMax;
  }

  /** Steps a bucket. */
  get width(): number {
    return this.#width;
  }

  add({ step, atMs, tokens, value }: Sample): void {
    if (!Number.isFinite(value)) {
      this.odd += 1;
      if (this.oddSteps.length < ODD_MAX) this.oddSteps.push(step);
      return;
    }
    this.count += 1;
    this.last = value;
    this.lastStep = step;
    const one = {
      step,
      lastStep: step,
      atMs,
      tokens,
      min: value,
      max: value,
      sum: value,
      count: 1,
    };
    const at = this.#placeOf(step);
    if (at < this.#length && this.#keyAt(at) === Math.floor(step / this.#width)) {
      this.#put(at, merged(this.at(at), one));
    } else this.#insert(at, one);
  }

  at(index: number): Bucket {
    const [step, lastStep, atMs, tokens, min, max, sum, count] = this.#room.subarray(
      index * COLUMNS,
      (index + 1) * COLUMNS,
    ) as unknown as [number, number, number, number, number, number, number, number];
    return { step, lastStep, atMs, tokens, min, max, sum, count };
  }

  /** Tokens trained when this step's bucket had its last value; 0 if there is none. */
  tokensAt(step: number): number {
    const at = Math.min(this.#placeOf(step), this.#length - 1);
    return at < 0 ? 0 : this.at(at).tokens;
  }

  /** The mean of the bucket that a step is in; null if it has no values. */
  meanAt(step: number): number | null {
    const at = this.#placeOf(step);
    if (at >= this.#length || this.#keyAt(at) !== Math.floor(step / this.#width)) return null;
    const { sum, count } = this.at(at);
    return sum / count;
  }

  /** The buckets with steps in [from, to], merged until there are at most `most`. */
  between(from: number, to: number, most: number): { readonly buckets: Bucket[]; width: number } {
    let buckets: Bucket[] = [];
    for (let i = 0; i < this.#length; i++) {
      const bucket = this.at(i);
      if (bucket.lastStep >= from && bucket.step <= to) buckets.push(bucket);
    }
    let width = this.#width;
    while (buckets.length > Math.max(1, most)) {
      width *= 2;
      buckets = halved(buckets, width);
    }
    return { buckets, width };
  }

  /** Where the bucket of a step is, or belongs. Steps usually come in order. */
  #placeOf(step: number): number {
    const key = Math.floor(step / this.#width);
    let low = 0;
    let high = this.#length;
    if (high > 0 && this.#keyAt(high - 1) <= key)
      low = this.#keyAt(high - 1) === key ? high - 1 : high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#keyAt(middle) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #keyAt(index: number): number {
    return Math.floor(this.#room[index * COLUMNS]! / this.#width);
  }

  #insert(at: number, bucket: Bucket): void {
    this.#grow();
    this.#room.copyWithin((at + 1) * COLUMNS, at * COLUMNS, this.#length * COLUMNS);
    this.#put(at, bucket);
    this.#length += 1;
    while (this.#length > this.#max) this.#halve();
  }

  #grow(): void {
    if ((this.#length + 1) * COLUMNS <= this.#room.length) return;
    const buckets = Math.min(2 * this.#length, this.#max + 1);
    const room = new Float64Array(buckets * COLUMNS);
    room.set(this.#room);
    this.#room = room;
  }

  #put(index: number, { step, lastStep, atMs, tokens, min, max, sum, count }: Bucket): void {
    this.#room.set([step, lastStep, atMs, tokens, min, max, sum, count], index * COLUMNS);
  }

  #halve(): void {
    this.#width *= 2;
    const buckets = Array.from({ length: this.#length }, (_, i) => this.at(i));
    const fewer = halved(buckets, this.#width);
    for (const [i, bucket] of fewer.entries()) this.#put(i, bucket);
    this.#length = fewer.length;
  }
}

/** Merges two buckets. Associative and, apart from rounding of the sums, commutative. */
export function merged(a: Bucket, b: Bucket): Bucket {
  const [first, last] = b.lastStep >= a.lastStep ? [a, b] : [b, a];
  return {
    step: Math.min(a.step, b.step),
    lastStep: last.lastStep,
    atMs: Math.max(first.atMs, last.atMs),
    tokens: Math.max(first.tokens, last.tokens),
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    sum: a.sum + b.sum,
    count: a.count + b.count,
  };
}

function halved(buckets: readonly Bucket[], width: number): Bucket[] {
  const fewer: Bucket[] = [];
  for (const bucket of buckets) {
    const before = fewer.at(-1);
    const key = Math.floor(bucket.step / width);
    if (before === undefined || Math.floor(before.step / width) !== key) fewer.push(bucket);
    else fewer[fewer.length - 1] = merged(before, bucket);
  }
  return fewer;
}
