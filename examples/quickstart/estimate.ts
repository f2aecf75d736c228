/** A mean over a few runs, with Student's 95 % interval. */

export interface Estimate {
  readonly mean: number;
  /** Half the width of the interval; null with fewer than two values. */
  readonly half: number | null;
}

/** Student's t at 97.5 %, by degrees of freedom from 1; the last one serves for more. */
const T975 = [
  ...[12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228],
  ...[2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086],
];

/** The mean of `values` (at least one), taking the runs for independent draws from a normal distribution. */
export function estimate(values: readonly number[]): Estimate {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  if (count < 2) return { mean, half: null };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const t = T975[Math.min(count - 1, T975.length) - 1]!;
  return { mean, half: t * Math.sqrt(squares / (count - 1) / count) };
}

/** `71.2 ± 3.4`; without an interval just the mean. `shown` writes a number. */
export function estimateText({ mean, half }: Estimate, shown: (value: number) => string): string {
  return half === null ? shown(mean) : `${shown(mean)} ± ${shown(half)}`;
}
