/**
 * The metrics of a run in bounded memory: for each name its curve over the steps, and its mean in each round.
 *
 * A curve has at most `BUCKETS_MAX` buckets of as many steps each. When a step is beyond the last one,
 * neighbours merge and a bucket holds twice as many; so a bucket stays where it is while values are added,
 * and a short run loses nothing.
 */
import type { Metric } from '../topics/index.ts';

export const BUCKETS_MAX = 4096;

/** The sums of a bucket's steps. */
export interface Bucket {
  /** The last of its steps that had a value. */
  step: number;
  sum: number;
  count: number;
  min: number;
  max: number;
}

class Curve {
  #width = 1;
  /** By number: bucket i holds steps `i × width` to `(i + 1) × width − 1`. */
  #buckets: (Bucket | undefined)[] = [];

  add(step: number, value: number): void {
    while (Math.floor(step / this.#width) >= BUCKETS_MAX) this.#halve();
    const at = Math.floor(step / this.#width);
    const one = { step, sum: value, count: 1, min: value, max: value };
    this.#buckets[at] = merged(this.#buckets[at], one);
  }

  get points(): readonly Readonly<Bucket>[] {
    return this.#buckets.filter((bucket) => bucket !== undefined);
  }

  #halve(): void {
    const pairs = Array.from({ length: Math.ceil(this.#buckets.length / 2) }, (_, i) =>
      merged(this.#buckets[2 * i], this.#buckets[2 * i + 1]),
    );
    this.#buckets = pairs;
    this.#width *= 2;
  }
}

function merged(a: Bucket | undefined, b: Bucket | undefined): Bucket | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    step: Math.max(a.step, b.step),
    sum: a.sum + b.sum,
    count: a.count + b.count,
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
  };
}

/** A metric's sums over a round. */
export interface RoundMean {
  readonly round: number;
  readonly name: string;
  readonly mean: number;
  /** Steps that had a value. */
  readonly steps: number;
  /** The last of them. */
  readonly lastStep: number;
}

interface Sum {
  readonly round: number;
  readonly name: string;
  sum: number;
  count: number;
  steps: number;
  lastStep: number;
}

export class MetricBook {
  readonly #curves = new Map<string, Curve>();
  readonly #sums = new Map<string, Sum>();

  /** Values of one name come in order of their steps, as in the log. */
  add({ name, round, step, value }: Metric): void {
    const curve = this.#curves.get(name) ?? new Curve();
    this.#curves.set(name, curve);
    if (Number.isFinite(value)) curve.add(step, value);
    const key = `${round} ${name}`;
    const sum = this.#sums.get(key) ?? { round, name, sum: 0, count: 0, steps: 0, lastStep: -1 };
    this.#sums.set(key, sum);
    sum.sum += value;
    sum.count += 1;
    if (step !== sum.lastStep) sum.steps += 1;
    sum.lastStep = Math.max(sum.lastStep, step);
  }

  /** The curve of a name, by step; empty if there are no values. */
  curve(name: string): readonly Readonly<Bucket>[] {
    return this.#curves.get(name)?.points ?? [];
  }

  /** The mean over the steps of a round; null if there is no value. */
  mean(name: string, round: number): number | null {
    const sum = this.#sums.get(`${round} ${name}`);
    return sum === undefined ? null : sum.sum / sum.count;
  }

  /** Every name in every round, in the order in which they first came. */
  get means(): readonly RoundMean[] {
    return [...this.#sums.values()].map(({ sum, count, ...rest }) => ({
      ...rest,
      mean: sum / count,
    }));
  }
}
