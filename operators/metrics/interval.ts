/**
 * How far a mean over questions may be off: the percentile bootstrap, or Wilson's interval for shares of right and wrong.
 *
 * Questions are drawn again with replacement, all rollouts of one together, because they are not independent. The
 * same values and seed give the same interval.
 */
import { mersenneTwister } from './mersenneTwister.ts';

/** A confidence interval, in the unit of what it is about. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 1000;

/** The interval that holds the mean in `level` of the resamples; both ends are the mean for one question or none. */
export function meanInterval(
  values: readonly number[],
  { seed, level = 0.95 }: { readonly seed: number; readonly level?: number },
): Interval {
  const count = values.length;
  const mean = (sum: number): number => (count === 0 ? 0 : sum / count);
  if (count < 2) return { low: mean(values[0] ?? 0), high: mean(values[0] ?? 0) };
  const generator = mersenneTwister(seed);
  const means = Float64Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += values[generator.below(count)]!;
    return mean(sum);
  }).sort();
  const tail = ((1 - level) / 2) * (RESAMPLES - 1);
  return { low: means[Math.floor(tail)]!, high: means[Math.ceil(RESAMPLES - 1 - tail)]! };
}

/** The standard normal's quantile for 95 %. */
const Z95 = 1.959963984540054;

/**
 * The 95 % interval of a share that held `share × count` times of `count` (Wilson 1927): never of no width, unlike the
 * bootstrap where all values are equal. From 0 to 1 where nothing was counted.
 */
export function wilsonInterval(share: number, count: number): Interval {
  if (count === 0) return { low: 0, high: 1 };
  const z2 = Z95 ** 2;
  const centre = share + z2 / (2 * count);
  const half = Z95 * Math.sqrt((share * (1 - share)) / count + z2 / (4 * count ** 2));
  const scale = 1 + z2 / count;
  // Of nothing and of all the ends are known; rounding would leave 2e-17.
  return {
    low: share === 0 ? 0 : (centre - half) / scale,
    high: share === 1 ? 1 : (centre + half) / scale,
  };
}

/**
 * The 95 % interval of the mean of numbers from 0 to 1, one for each question: Wilson's where each is right or wrong, or where
 * all are equal; else the bootstrap.
 */
export function shareInterval(
  values: readonly number[],
  options: { readonly seed: number },
): Interval {
  const plain = values.every((value) => value === 0 || value === 1);
  if (!plain && values.some((value) => value !== values[0])) return meanInterval(values, options);
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  return wilsonInterval(mean, values.length);
}
