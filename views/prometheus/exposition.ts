/**
 * Prometheus' text format, version 0.0.4: families of samples as a page of lines.
 *
 * A page is filled when it is asked for, from numbers that others keep; it holds none itself. Label values are escaped and
 * cut, since some of them come from outside.
 */

/** A kind of number: its name, what it means, and the labels that its samples carry. */
export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One line. */
  readonly help: string;
  readonly labels: readonly string[];
}

/** Values of a family's labels, in their order. */
export type LabelValues = readonly string[];

/** What Prometheus and a browser are told the page is. */
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const LABEL_LENGTH_MAX = 100;

/** One answer to a scrape. */
export class Page {
  readonly #common: string;
  readonly #lines = new Map<Family, string[]>();

  /** `common`: labels of every sample. */
  constructor(common: Readonly<Record<string, string>> = {}) {
    this.#common = pairs(Object.keys(common), Object.values(common));
  }

  add(family: Family, values: LabelValues, value: number): void {
    this.#add(family, family.name, pairs(family.labels, values), value);
  }

  addHistogram(family: Family, values: LabelValues, histogram: Histogram): void {
    const labels = pairs(family.labels, values);
    const { bounds, counts, sum } = histogram;
    let below = 0;
    [...bounds, Number.POSITIVE_INFINITY].forEach((bound, i) => {
      below += counts[i] ?? 0;
      const le = pairs(['le'], [numberText(bound)]);
      this.#add(family, `${family.name}_bucket`, joined(labels, le), below);
    });
    this.#add(family, `${family.name}_sum`, labels, sum);
    this.#add(family, `${family.name}_count`, labels, below);
  }

  text(): string {
    return [...this.#lines]
      .map(([{ name, help, type }, lines]) =>
        [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n'),
      )
      .join('');
  }

  #add(family: Family, name: string, labels: string, value: number): void {
    const all = joined(this.#common, labels);
    const line = `${name}${all === '' ? '' : `{${all}}`} ${numberText(value)}`;
    const lines = this.#lines.get(family);
    if (lines === undefined) this.#lines.set(family, [line]);
    else lines.push(line);
  }
}

/** How often a value lay between two bounds. */
export class Histogram {
  readonly bounds: readonly number[];
  /** Of each bound those at or below it and above the one before; the last: above all bounds. */
  readonly counts: number[];
  sum = 0;

  /** `bounds` ascending. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const at = this.bounds.findIndex((bound) => value <= bound);
    const bucket = at === -1 ? this.bounds.length : at;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += value;
  }
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(',');
}

function pairs(names: readonly string[], values: LabelValues): string {
  return names.map((name, i) => `${name}="${escaped(values[i] ?? '')}"`).join(',');
}

function escaped(value: string): string {
  return value
    .slice(0, LABEL_LENGTH_MAX)
    .replace(/\\/g, '\\\\')
    .replace(/\n/g, '\\n')
    .replace(/"/g, '\\"');
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
