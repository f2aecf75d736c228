/**
 * The metrics of a run as series in bounded memory. The first `limits.seriesMax` names are kept; for as many
 * others only the last value is known, and the rest are counted. Tokens trained so far are kept too, as an
 * axis.
 */

import { metricNames } from '../../../summary/index.ts';
import type { Metric } from '../../../topics/index.ts';
import type { MetricName } from '../../wire/index.ts';
import { BucketSeries, type Sample } from './bucketSeries.ts';
import { limits } from './limits.ts';

const LISTED_MAX = 2_000;

export class SeriesBook {
  readonly #series = new Map<string, BucketSeries>();
  readonly #listed = new Map<string, { values: number; last: number | null; lastStep: number }>();
  /** Names beyond those that are listed, as far as they were seen. */
  unlisted = 0;
  #tokens = 0;
  #rate = 0;

  /** Call in the order of the log. Returns the sample it became. */
  add({ name, step, atMs, value }: Metric): Sample {
    this.#count(name, value);
    const sample = { step, atMs, tokens: this.#tokens, value };
    const known = this.#series.get(name);
    if (known !== undefined) known.add(sample);
    else if (this.#series.size < limits.seriesMax) {
      const series = new BucketSeries();
      series.add(sample);
      this.#series.set(name, series);
    } else this.#list(name, sample);
    return sample;
  }

  series(name: string): BucketSeries | null {
    return this.#series.get(name) ?? null;
  }

  get names(): MetricName[] {
    const kept = [...this.#series].map(([name, { count, odd, last, lastStep }]) => {
      return { name, values: count + odd, last, lastStep };
    });
    const listed = [...this.#listed].map(([name, about]) => ({ name, ...about }));
    return [...kept, ...listed].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Tokens per step are known from their rate and the time in the trainer, which comes last. */
  #count(name: string, value: number): void {
    if (!Number.isFinite(value)) return;
    if (name === metricNames.trained) this.#rate = value;
    if (name === metricNames.trainMs) this.#tokens += Math.round((this.#rate * value) / 1000);
  }

  #list(name: string, { step, value }: Sample): void {
    const before = this.#listed.get(name);
    if (before === undefined && this.#listed.size >= LISTED_MAX) this.unlisted += 1;
    else {
      const last = Number.isFinite(value) ? value : (before?.last ?? null);
      this.#listed.set(name, { values: (before?.values ?? 0) + 1, last, lastStep: step });
    }
  }
}
