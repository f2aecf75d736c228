/**
 * How far off the difference of two means over the same questions may be.
 *
 * The questions are the same before and after, so values are paired: what makes a question hard makes it hard
 * twice, and the difference is more certain than two measurements on different questions.
 */
import { type Interval, meanInterval, shareInterval } from './interval.ts';

/** Values of the same questions, in the same order. */
export interface Pairs {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** `seed` = for the bootstrap's draws. */
interface Drawn {
  readonly seed: number;
}

/** A mean, and the ends of its interval. */
export interface Estimate {
  readonly mean: number;
  readonly interval: Interval;
}

/**
 * The interval of `after − before` from the intervals of the two and their correlation: the "square-and-add"
 * of Newcombe (1998, Statistics in Medicine 17, 873–890 for independent proportions, 2635–2650 for paired
 * ones; here without his correction to the correlation), as Zou and Donner (2008, Statistics in Medicine 27,
 * 1693–1702) extend it to any two estimates.
 */
export function squareAndAdd(before: Estimate, after: Estimate, correlation: number): Interval {
  const distance = (x: number, y: number): number =>
    Math.sqrt(Math.max(0, x ** 2 - 2 * correlation * x * y + y ** 2));
  const [a, b] = [before.interval, after.interval];
  const difference = after.mean - before.mean;
  return {
    low: difference - distance(after.mean - b.low, a.high - before.mean),
    high: difference + distance(b.high - after.mean, before.mean - a.low),
  };
}

/**
 * The 95 % interval of `mean(after) − mean(before)` for values from 0 to 1 (`squareAndAdd` over
 * `shareInterval`; where each value is 0 or 1 those are Wilson's). Never of no width where all are equal, and
 * never outside −1 to 1.
 */
export function shareDifference({ before, after }: Pairs, options: Drawn): Interval {
  const estimate = (values: readonly number[]): Estimate => ({
    mean: mean(values),
    interval: shareInterval(values, options),
  });
  const rho = correlation(before, after);
  const { low, high } = squareAndAdd(estimate(before), estimate(after), rho);
  return { low: Math.max(-1, low), high: Math.min(1, high) };
}

/**
 * The 95 % interval of `mean(after) − mean(before)` for any numbers: the bootstrap over the questions' own
 * differences.
 */
export function numberDifference({ before, after }: Pairs, options: Drawn): Interval {
  return meanInterval(
    after.map((value, i) => value - before[i]!),
    options,
  );
}

/** Pearson's; 0 if one of the two does not vary. */
function correlation(xs: readonly number[], ys: readonly number[]): number {
  const [x, y] = [mean(xs), mean(ys)];
  const sum = (of: (i: number) => number): number => xs.reduce((total, _, i) => total + of(i), 0);
  const product = Math.sqrt(sum((i) => (xs[i]! - x) ** 2) * sum((i) => (ys[i]! - y) ** 2));
  return product === 0 ? 0 : sum((i) => (xs[i]! - x) * (ys[i]! - y)) / product;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
