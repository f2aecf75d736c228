/**
 * Finds where a curve changes its level: divides its values into stretches of constant mean so that the
 * squared error plus a price for each change is least. Exact, by optimal partitioning (Jackson et al., An
 * algorithm for optimal partitioning of data on an interval, IEEE Signal Processing Letters 12, 2005). The
 * price follows Schwarz' criterion (Yao, Estimating the number of change-points via Schwarz' criterion,
 * Statistics & Probability Letters 6, 1988), doubled because the steps of a training are not independent.
 * Pure.
 */

export interface ChangePoint {
  /** The index of the new level's first value. */
  readonly index: number;
  /** Means of the values beside it, at most `NEAR` on either side. */
  readonly before: number;
  readonly after: number;
  /** The difference between them, in standard deviations of the noise. */
  readonly size: number;
}

/** Fewer values do not make a level. */
const LEVEL_MIN = 3;
const NEAR = 5;
/** Smaller changes are part of a slope. */
const SIZE_MIN = 2.5;

/** Ascending. Time grows with the square of the number of values: use a few hundred at most. */
export function changePoints(values: readonly number[]): ChangePoint[] {
  const n = values.length;
  const noise = noiseOf(values);
  if (n < 2 * LEVEL_MIN || noise === 0) return [];
  const cost = costOf(values);
  const price = 4 * noise ** 2 * Math.log(n);
  const best = [-price, ...new Array<number>(n).fill(Number.POSITIVE_INFINITY)];
  const begins = new Array<number>(n + 1).fill(0);
  for (let end = LEVEL_MIN; end <= n; end++) {
    for (let begin = 0; begin <= end - LEVEL_MIN; begin++) {
      const total = best[begin]! + cost(begin, end) + price;
      if (total >= best[end]!) continue;
      best[end] = total;
      begins[end] = begin;
    }
  }
  const cuts = [n];
  for (let cut = begins[n]!; cut > 0; cut = begins[cut]!) cuts.unshift(cut);
  return cuts.slice(0, -1).flatMap((index, i) => {
    const before = mean(values.slice(Math.max(cuts[i - 1] ?? 0, index - NEAR), index));
    const after = mean(values.slice(index, Math.min(cuts[i + 1]!, index + NEAR)));
    const size = Math.abs(after - before) / noise;
    return size < SIZE_MIN ? [] : [{ index, before, after, size }];
  });
}

/** Squared error of the values from `begin` up to but without `end`, around their mean. */
function costOf(values: readonly number[]): (begin: number, end: number) => number {
  const middle = mean(values);
  const sums = [0];
  const squares = [0];
  values.forEach((value, i) => {
    sums.push(sums[i]! + value - middle);
    squares.push(squares[i]! + (value - middle) ** 2);
  });
  return (begin, end) => {
    const sum = sums[end]! - sums[begin]!;
    return Math.max(0, squares[end]! - squares[begin]! - sum ** 2 / (end - begin));
  };
}

/**
 * Standard deviation of the noise, from the median difference of neighbours, which changes of level hardly
 * affect; from their mean square if most differences are zero.
 */
function noiseOf(values: readonly number[]): number {
  const steps = values.slice(1).map((value, i) => Math.abs(value - values[i]!));
  const median = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  const typical = median > 0 ? 1.4826 * median : Math.sqrt(mean(steps.map((step) => step ** 2)));
  return typical / Math.SQRT2 || 0;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
