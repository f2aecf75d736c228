/**
 * How far off a mean over questions may be: the percentile bootstrap, or Wilson's interval for shares of
 * right and wrong.
 *
 * Questions are drawn again with replacement, with all their rollouts, because these are not independent. The
 * same values and seed give the same interval.
 */
import { mersenneTwister } from './mersenneTwister.ts';

/** A confidence interval, in the unit of its subject. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 1000;

interface Bootstrap {
  readonly seed: number;
  readonly level?: number;
}

/**
 * The interval that holds the mean in `level` of the resamples; both ends are the mean for one question or
 * none.
 */
export function meanInterval(values: readonly number[], options: Bootstrap): Interval {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, count);
  if (count < 2) return { low: mean, high: mean };
  const packed = Float64Array.from(values);
  const drawn = (places: Uint32Array): number => {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += packed[places[i]!]!;
    return sum / count;
  };
  return resampled(count, drawn, options) ?? { low: mean, high: mean };
}

/** Of one question: the sum, and the count. */
export interface PartOfMean {
  readonly sum: number;
  readonly count: number;
}

/**
 * The interval of a mean over what only some questions have (`Σ sum / Σ count`): resamples of the questions
 * in which it can be said. Null if fewer than `HAVING_MIN` questions have it: two or three always seem to
 * agree.
 */
export function ratioInterval(parts: readonly PartOfMean[], options: Bootstrap): Interval | null {
  return having(parts) < HAVING_MIN ? null : resampled(parts.length, ratioOf(parts), options);
}

/**
 * The interval of the difference of such means, after minus before, over the same questions in the same
 * order.
 */
export function ratioDifference(
  {
    before,
    after,
  }: { readonly before: readonly PartOfMean[]; readonly after: readonly PartOfMean[] },
  options: Bootstrap,
): Interval | null {
  if (Math.min(having(before), having(after)) < HAVING_MIN) return null;
  const [first, second] = [ratioOf(before), ratioOf(after)];
  const drawn = (places: Uint32Array): number | null => {
    const [from, to] = [first(places), second(places)];
    return from === null || to === null ? null : to - from;
  };
  return resampled(before.length, drawn, options);
}

const HAVING_MIN = 5;

function having(parts: readonly PartOfMean[]): number {
  return parts.filter(({ count }) => count > 0).length;
}

function ratioOf(parts: readonly PartOfMean[]): (places: Uint32Array) => number | null {
  const sums = Float64Array.from(parts, (part) => part.sum);
  const counts = Float64Array.from(parts, (part) => part.count);
  return (places) => {
    let [sum, count] = [0, 0];
    for (let i = 0; i < places.length; i++) {
      sum += sums[places[i]!]!;
      count += counts[places[i]!]!;
    }
    return count === 0 ? null : sum / count;
  };
}

/**
 * What `of` gives for `RESAMPLES` draws of questions with replacement, given as their places; draws for which
 * it gives nothing do not count.
 */
function resampled(
  questions: number,
  of: (places: Uint32Array) => number | null,
  { seed, level = 0.95 }: Bootstrap,
): Interval | null {
  const draw = questions > KEPT_MAX ? drawing(seed, questions) : keptDrawing(seed, questions);
  const found = new Float64Array(RESAMPLES);
  let count = 0;
  for (let i = 0; i < RESAMPLES && questions > 0; i++) {
    const value = of(draw(i));
    if (value !== null) found[count++] = value;
  }
  if (count === 0) return null;
  const values = found.subarray(0, count).sort();
  const last = count - 1;
  const tail = ((1 - level) / 2) * last;
  return { low: values[Math.floor(tail)]!, high: values[Math.ceil(last - tail)]! };
}

/** The resamples, in order. */
function drawing(seed: number, questions: number): () => Uint32Array {
  const generator = mersenneTwister(seed);
  return () => {
    const places = new Uint32Array(questions);
    for (let i = 0; i < questions; i++) places[i] = generator.below(questions);
    return places;
  };
}

/** Above this many questions, each figure draws again: keeping the draws takes 4 KB per question. */
const KEPT_MAX = 5_000;

/** Of the last call: all figures of an evaluation are drawn over the same questions. */
let kept = { seed: 0, questions: 0, resamples: [] as readonly Uint32Array[] };

/** The same draws, made once. */
function keptDrawing(seed: number, questions: number): (resample: number) => Uint32Array {
  if (kept.seed !== seed || kept.questions !== questions) {
    kept = {
      seed,
      questions,
      resamples: Array.from({ length: RESAMPLES }, drawing(seed, questions)),
    };
  }
  const { resamples } = kept;
  return (resample) => resamples[resample]!;
}

/** The standard normal's quantile for 95 %. */
const Z95 = 1.959963984540054;

/**
 * The 95 % interval of a share that held `share × count` times of `count` (Wilson 1927): never of no width,
 * unlike the bootstrap where all values are equal. From 0 to 1 where nothing was counted.
 */
export function wilsonInterval(share: number, count: number): Interval {
  if (count === 0) return { low: 0, high: 1 };
  const z2 = Z95 ** 2;
  const centre = share + z2 / (2 * count);
  const half = Z95 * Math.sqrt((share * (1 - share)) / count + z2 / (4 * count ** 2));
  const scale = 1 + z2 / count;
  // If the share is 0 or 1, that end is exact; rounding would leave 2e-17.
  return {
    low: share === 0 ? 0 : (centre - half) / scale,
    high: share === 1 ? 1 : (centre + half) / scale,
  };
}

/**
 * The 95 % interval of the mean of numbers from 0 to 1, one per question: Wilson's if each is right or wrong,
 * or if all are equal; otherwise the bootstrap.
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
