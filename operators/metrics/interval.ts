/**
 * How far a mean over questions may be off: the percentile bootstrap.
 *
 * Questions are drawn again with replacement, all rollouts of one together, because they are not independent. The
 * same values and seed give the same interval.
 */
import { mersenneTwister } from './mersenneTwister.ts';

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
