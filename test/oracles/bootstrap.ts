/**
 * Validation numbers of repeated rollouts by resampling (ARPO reference §7.9): the mean over a prompt's
 * responses, and what the best, the worst and the majority of n of them are expected to give.
 */
import { mersenneTwister } from '../../operators/metrics/mersenneTwister.ts';

const RESAMPLES = 1000;

/** Name to value: `mean@4`, `std@4`, `best@2/mean`, … */
export type BootstrapMetrics = Readonly<Record<string, number>>;

export interface BootstrapOptions {
  readonly seed: number;
  /** One vote a response; with votes the majority is measured too (ties go to the vote drawn first). */
  readonly votes?: readonly string[];
}

/** The numbers of one prompt from the values of its responses. */
export function bootstrap(
  values: readonly number[],
  { seed, votes }: BootstrapOptions,
): BootstrapMetrics {
  const count = values.length;
  const metrics: Record<string, number> = { [`mean@${count}`]: mean(values) };
  if (count === 1) return metrics;
  metrics[`std@${count}`] = deviation(values);
  for (const size of sizes(count)) {
    const record = (name: string, reduce: (chosen: readonly number[]) => number) => {
      const resampled = resample(count, size, seed, reduce);
      metrics[`${name}@${size}/mean`] = mean(resampled);
      metrics[`${name}@${size}/std`] = deviation(resampled);
    };
    record('best', (chosen) => Math.max(...chosen.map((i) => values[i]!)));
    record('worst', (chosen) => Math.min(...chosen.map((i) => values[i]!)));
    if (votes) record('maj', (chosen) => values[firstOfMajority(chosen, votes)]!);
  }
  return metrics;
}

/** The mean of each number over prompts that all have it. */
export function averageMetrics(prompts: readonly BootstrapMetrics[]): BootstrapMetrics {
  const columns = new Map<string, number[]>();
  for (const metrics of prompts) {
    for (const [name, value] of Object.entries(metrics)) {
      columns.set(name, [...(columns.get(name) ?? []), value]);
    }
  }
  return Object.fromEntries([...columns].map(([name, values]) => [name, mean(values)]));
}

/** 2, 4, 8, … below `count`, then `count`. */
function sizes(count: number): number[] {
  const found: number[] = [];
  for (let size = 2; size < count; size *= 2) found.push(size);
  return [...found, count];
}

function resample(
  count: number,
  size: number,
  seed: number,
  reduce: (chosen: readonly number[]) => number,
): number[] {
  const generator = mersenneTwister(seed);
  return Array.from({ length: RESAMPLES }, () =>
    reduce(Array.from({ length: size }, () => generator.below(count))),
  );
}

function firstOfMajority(chosen: readonly number[], votes: readonly string[]): number {
  const byVote = new Map<string, number[]>();
  for (const i of chosen) byVote.set(votes[i]!, [...(byVote.get(votes[i]!) ?? []), i]);
  const most = Math.max(...[...byVote.values()].map((members) => members.length));
  return [...byVote.values()].find((members) => members.length === most)![0]!;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function deviation(values: readonly number[]): number {
  const average = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - average) ** 2)));
}
