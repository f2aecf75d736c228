/**
 * Validation numbers of repeated rollouts as in verl (ARPO reference §7.9): mean and deviation over the
 * responses to a question, and the results of the best, the worst and the majority of k of them, over 1,000
 * resamples.
 */
import { mersenneTwister } from './mersenneTwister.ts';

const RESAMPLES = 1000;
/** Every question uses the same resamples, as released. */
const SEED = 42;

/** Name to value: `mean@4`, `std@4`, `best@2/mean`, `best@2/std`, `worst@2/mean`, `maj@2/mean`, … */
export type ResampledNumbers = Readonly<Record<string, number>>;

/** The responses to one question. */
export interface Responses {
  readonly values: readonly number[];
  /** The answer of each; equal answers are one vote. Left out = there is no majority. */
  readonly votes?: readonly (string | number)[];
}

/** The numbers of one question. For one response, only its mean. */
export type Resample = (responses: Responses) => ResampledNumbers;

/** Questions with the same number of responses share the drawn indices. */
export function resampling(seed: number = SEED): Resample {
  const drawn = new Map<string, readonly (readonly number[])[]>();
  const places = (count: number, size: number): readonly (readonly number[])[] => {
    const key = `${count}/${size}`;
    const known = drawn.get(key) ?? draw(count, size, seed);
    drawn.set(key, known);
    return known;
  };
  return ({ values, votes }) => {
    const count = values.length;
    const numbers: Record<string, number> = { [`mean@${count}`]: mean(values) };
    if (count < 2) return numbers;
    numbers[`std@${count}`] = deviation(values);
    const measures: Readonly<Record<string, (chosen: readonly number[]) => number>> = {
      best: (chosen) => chosen.reduce((most, i) => Math.max(most, values[i]!), -Infinity),
      worst: (chosen) => chosen.reduce((least, i) => Math.min(least, values[i]!), Infinity),
      ...(votes === undefined ? {} : { maj: (chosen) => values[majority(chosen, votes)]! }),
    };
    for (const size of sizesBelow(count)) {
      for (const [name, of] of Object.entries(measures)) {
        const found = places(count, size).map(of);
        numbers[`${name}@${size}/mean`] = mean(found);
        numbers[`${name}@${size}/std`] = deviation(found);
      }
    }
    return numbers;
  };
}

/** The mean of each number over the questions that have it. */
export function meanNumbers(questions: readonly ResampledNumbers[]): ResampledNumbers {
  const names = new Set(questions.flatMap((numbers) => Object.keys(numbers)));
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      mean(questions.flatMap((numbers) => (name in numbers ? [numbers[name]!] : []))),
    ]),
  );
}

/** 2, 4, 8, … below `count`, then `count` itself. */
function sizesBelow(count: number): readonly number[] {
  const powers = Array.from({ length: Math.ceil(Math.log2(count)) }, (_, i) => 2 ** (i + 1));
  return [...powers.filter((size) => size < count), count];
}

function draw(count: number, size: number, seed: number): number[][] {
  const generator = mersenneTwister(seed);
  const one = (): number[] => Array.from({ length: size }, () => generator.below(count));
  return Array.from({ length: RESAMPLES }, one);
}

/** The first index of the most frequent vote; of equally frequent ones, the one that came first. */
function majority(chosen: readonly number[], votes: readonly (string | number)[]): number {
  const counts = new Map<string | number, number>();
  for (const i of chosen) counts.set(votes[i]!, (counts.get(votes[i]!) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return chosen.find((i) => counts.get(votes[i]!) === most)!;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Population deviation. */
function deviation(values: readonly number[]): number {
  const average = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - average) ** 2)));
}
