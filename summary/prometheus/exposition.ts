/**
 * The answer to a scrape: families of samples, written by prom-client.
 *
 * A page is filled on request, from numbers that others keep; only histograms are kept from one page to the
 * next. Label values are cut, since some of them come from outside.
 */
import { Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client';

/** A kind of number: its name, what it means, and the labels that its samples have. */
export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One line. */
  readonly help: string;
  readonly labels: readonly string[];
}

/** Values of a family's labels, in order. */
export type LabelValues = readonly string[];

/** The page's type, for Prometheus and browsers. */
export const CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

const LABEL_LENGTH_MAX = 100;

/** One answer to a scrape. */
export class Page {
  readonly #registry = new Registry();
  readonly #metrics = new Map<Family, Counter | Gauge>();

  /** `common`: labels of every sample. */
  constructor(common: Readonly<Record<string, string>> = {}) {
    this.#registry.setDefaultLabels(labelled(Object.keys(common), Object.values(common)));
  }

  add(family: Family, values: LabelValues, value: number): void {
    const labels = labelled(family.labels, values);
    const metric = this.#metric(family);
    if (metric instanceof Counter) metric.inc(labels, value);
    else metric.set(labels, value);
  }

  /** Read when the page is. */
  addKept(metric: Metric): void {
    this.#registry.registerMetric(metric);
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #metric(family: Family): Counter | Gauge {
    const known = this.#metrics.get(family);
    if (known !== undefined) return known;
    const { name, help, labels: labelNames } = family;
    const configuration = { name, help, labelNames, registers: [this.#registry] };
    const Kind = family.type === 'counter' ? Counter : Gauge;
    const metric = new Kind(configuration);
    this.#metrics.set(family, metric);
    return metric;
  }
}

/** How often a number was below each of these bounds, kept over many pages. */
export class KeptHistogram {
  readonly metric: Histogram;
  readonly #family: Family;

  /** `buckets` ascending. */
  constructor(family: Family, buckets: readonly number[]) {
    const { name, help, labels: labelNames } = family;
    this.#family = family;
    this.metric = new Histogram({ name, help, labelNames, buckets: [...buckets], registers: [] });
  }

  observe(values: LabelValues, value: number): void {
    this.metric.observe(labelled(this.#family.labels, values), value);
  }
}

function labelled(names: readonly string[], values: LabelValues): Record<string, string> {
  return Object.fromEntries(
    names.map((name, i) => [name, (values[i] ?? '').slice(0, LABEL_LENGTH_MAX)]),
  );
}
