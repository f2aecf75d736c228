/**
 * What the losses share that bound a ratio r between the policy that is trained and the one that sampled: the
 * bounds 1 - clipLow and 1 + clipHigh as scalar inputs, their feeds, and when a token counts as clipped.
 */
import type { Graph, Value } from '../../graph/graph.ts';
import type { Feeds } from '../../runtime/session.ts';
import type { ServiceLoss, TargetSequence } from '../loss.ts';
import { scalar } from './feeds.ts';
import { hasAdvantage, rolloutFeeds, rolloutMetrics, rowWeights, vectorOf } from './rollouts.ts';
import { type TermSettings, termFeeds, termsOf } from './terms.ts';
import type { Aggregation } from './tokenWeights.ts';

/** How far a ratio may be from 1. */
export interface ClipSettings {
  readonly clipLow: number;
  readonly clipHigh: number;
}

/** The bounds as inputs of a graph. */
export interface RatioBounds {
  readonly ratioMin: Value;
  readonly ratioMax: Value;
}

/**
 * The parts of a definition that are the same for all losses over rollouts with the settings of
 * `termSettings`.
 */
export const overRollouts = {
  data: 'rollouts',
  reference: (settings: TermSettings) => termsOf(settings).kl !== null,
  variant: termsOf,
  learns(sequence: TargetSequence, settings: TermSettings): boolean {
    const { kl, entropy } = termsOf(settings);
    return kl !== null || entropy || hasAdvantage(sequence);
  },
  metrics: rolloutMetrics,
} as const;

/** Adds the bounds to the graph: scalars. */
export function ratioBounds(graph: Graph): RatioBounds {
  const bound = (name: string) => graph.input(name, graph.float, []);
  return { ratioMin: bound('ratioMin'), ratioMax: bound('ratioMax') };
}

/** clamp(ratio, ratioMin, ratioMax), a constant to differentiation. */
export function clamped(ratio: Value, { ratioMin, ratioMax }: RatioBounds): Value {
  const { graph, shape } = ratio;
  return graph.node('Min', [graph.node('Max', [ratio, ratioMin], shape), ratioMax], shape);
}

/** The feeds of rollouts, terms and bounds, with tokens weighted by `aggregation`. */
export function ratioFeeds(
  sequences: readonly TargetSequence[],
  settings: ClipSettings & TermSettings,
  aggregation: Aggregation,
): (rows: readonly number[]) => Feeds {
  const weight = rowWeights(sequences, aggregation);
  const terms = termFeeds(sequences, settings, weight);
  const bounds = {
    ratioMin: scalar(1 - settings.clipLow),
    ratioMax: scalar(1 + settings.clipHigh),
  };
  return (rows) => ({ ...rolloutFeeds(sequences, rows, weight), ...terms(rows), ...bounds });
}

/** A loss with these bounds on our training service; null if terms are added to it. */
export function boundedOnService(
  name: string,
  settings: ClipSettings & TermSettings & { readonly aggregation: Aggregation },
  config: Readonly<Record<string, number>> = {},
): ServiceLoss | null {
  const { kl, entropy } = termsOf(settings);
  if (kl !== null || entropy) return null;
  const bounds = {
    clip_low_threshold: 1 - settings.clipLow,
    clip_high_threshold: 1 + settings.clipHigh,
  };
  return {
    name,
    config: { ...bounds, ...config },
    weights: (sequences) => rowWeights(sequences, settings.aggregation),
  };
}

/** The bounds as feeds. */
export function boundsIn(feeds: Feeds): readonly [low: number, high: number] {
  return [vectorOf(feeds, 'ratioMin')[0] as number, vectorOf(feeds, 'ratioMax')[0] as number];
}

/** Whether the clipped term of max(-A * r, -A * clamp(r)) is the larger one (verl's clip fraction). */
export function isClipped(
  advantage: number,
  ratio: number,
  [low, high]: readonly [low: number, high: number],
): boolean {
  return -advantage * Math.min(Math.max(ratio, low), high) > -advantage * ratio;
}
