/**
 * What the losses over rollouts share: their feeds, and what they report of the ratio between the policy that
 * is trained and the one that sampled.
 */
import type { Graph, Value } from '../../graph/graph.ts';
import type { Feed, Feeds } from '../../runtime/session.ts';
import type { OverSteps, Tally, TargetSequence } from '../loss.ts';
import { at, atTargets, perTarget } from './feeds.ts';
import { type Aggregation, tokenWeights } from './tokenWeights.ts';

/** One number a target token each, [M]; log-probs in nats. */
export interface RolloutInputs {
  /** Factor of each token's loss, including the lag's importance weight. */
  readonly weights: Value;
  readonly advantages: Value;
  readonly oldLogProbs: Value;
}

/** Adds the inputs that `rolloutFeeds` feeds to the graph: vectors [M]. */
export function rolloutInputs(graph: Graph): RolloutInputs {
  const vector = (name: string) => graph.input(name, graph.float, ['M']);
  return {
    weights: vector('weights'),
    advantages: vector('advantages'),
    oldLogProbs: vector('oldLogProbs'),
  };
}

/** `weight` = that of a row's tokens by the aggregation alone. */
export function rolloutFeeds(
  sequences: readonly TargetSequence[],
  rows: readonly number[],
  weight: (row: number) => number,
): Feeds {
  return {
    weights: weightsOf(sequences, rows, weight),
    advantages: atTargets(sequences, rows, ({ advantages }) => advantages),
    oldLogProbs: atTargets(sequences, rows, ({ oldLogProbs }) => oldLogProbs),
  };
}

function weightsOf(
  sequences: readonly TargetSequence[],
  rows: readonly number[],
  weight: (row: number) => number,
): Feed {
  if (rows.some((row) => sequences[row]?.importance !== undefined)) {
    return perTarget(sequences, rows, (row, place) => {
      const importance = sequences[row]?.importance;
      return importance === undefined ? weight(row) : weight(row) * at(importance, place);
    });
  }
  const counts = rows.map((row) => sequences[row]?.places.length ?? 0);
  const data = new Float64Array(counts.reduce((sum, count) => sum + count, 0));
  let index = 0;
  for (const [i, row] of rows.entries()) {
    data.fill(weight(row), index, index + counts[i]!);
    index += counts[i]!;
  }
  return { shape: [data.length], data };
}

/** A token that was less likely than e^-80 has a ratio that may overflow, and 0 times infinity is no 0. */
const LOG_PROB_SAFE = -80;

/**
 * Whether a target has an advantage, or a number with which an advantage of 0 need not give a gradient of 0.
 */
export function hasAdvantage(sequence: TargetSequence): boolean {
  const { places, advantages, oldLogProbs, importance } = sequence;
  return places.some((place) => {
    const nothing =
      at(advantages, place) === 0 &&
      at(oldLogProbs, place) > LOG_PROB_SAFE &&
      (importance === undefined || Number.isFinite(at(importance, place)));
    return !nothing;
  });
}

/** The weight of a row's tokens under an aggregation over the whole batch. */
export function rowWeights(
  sequences: readonly TargetSequence[],
  aggregation: Aggregation,
): (row: number) => number {
  const responses = sequences.map(
    ({ tokens, places }) => tokens.length - (places[0] ?? tokens.length),
  );
  const weighed = sequences.map(({ places, rollout }) => ({ targets: places.length, rollout }));
  const weights = tokenWeights(weighed, aggregation, Math.max(1, ...responses));
  return (row) => weights[row] as number;
}

/** Share of clipped tokens, mean of old - new, and mean and maximum of |old - new| before the first step. */
export const rolloutMetrics = {
  'clip/fraction': 'mean',
  'kl/behaviour': 'mean',
  'logprob/diff_mean': 'first',
  'logprob/diff_max': 'first',
} as const satisfies Readonly<Record<string, OverSteps>>;

/** One token as seen by its loss. `drift` = old - new log-prob. */
export interface TallyToken {
  readonly index: number;
  readonly drift: number;
  readonly advantage: number;
}

/** Counts over the target tokens of a step. `drift` = old - new log-prob. */
export interface RolloutSums {
  /** Tokens held by the clipping. */
  readonly clipped: number;
  readonly drift: number;
  /** Sum and maximum of |drift|. */
  readonly apart: number;
  readonly apartMax: number;
}

/** By the names of `rolloutMetrics`; `targets` = tokens, at least 1. */
export function rolloutNumbers(
  { clipped, drift, apart, apartMax }: RolloutSums,
  targets: number,
): Readonly<Record<keyof typeof rolloutMetrics, number>> {
  return {
    'clip/fraction': clipped / targets,
    'kl/behaviour': drift / targets,
    'logprob/diff_mean': apart / targets,
    'logprob/diff_max': apartMax,
  };
}

/** `clippedIn` says which tokens the clipping holds, for one run of the graph. */
export function rolloutTally(
  clippedIn: (feeds: Feeds, logProbs: ArrayLike<number>) => (token: TallyToken) => boolean,
): Tally {
  let clipped = 0;
  let drifts = 0;
  let driftSum = 0;
  let driftMax = 0;
  return {
    add(feeds, logProbs) {
      const [old, advantages] = [vectorOf(feeds, 'oldLogProbs'), vectorOf(feeds, 'advantages')];
      const isClipped = clippedIn(feeds, logProbs);
      for (let index = 0; index < logProbs.length; index++) {
        const drift = (old[index] as number) - (logProbs[index] as number);
        if (isClipped({ index, drift, advantage: advantages[index] as number })) clipped++;
        drifts += drift;
        driftSum += Math.abs(drift);
        driftMax = Math.max(driftMax, Math.abs(drift));
      }
    },
    numbers: (targets) =>
      rolloutNumbers({ clipped, drift: drifts, apart: driftSum, apartMax: driftMax }, targets),
  };
}

/** A feed of real numbers. */
export function vectorOf(feeds: Feeds, name: string): ArrayLike<number> {
  return feeds[name]?.data as ArrayLike<number>;
}
