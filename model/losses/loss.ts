/**
 * What a loss is: its settings, the data that it reads, its graph, what is fed to the graph, and what it
 * reports. One file of this folder holds all of it; `index.ts` gives it a name. docs/losses.md shows how to
 * write one.
 *
 * The batch is computed in micro-batches whose losses and gradients are added up. So a mean is a weighted
 * sum: feeds are made for the whole batch first, which is where weights come from, and then for the rows of
 * each micro-batch.
 */
import type { z } from 'zod';
import type { TrainSequence } from '../engine.ts';
import type { Value } from '../graph/graph.ts';
import type { Judged } from '../graph/layers.ts';
import type { Feeds } from '../runtime/session.ts';
import type { Places } from './places.ts';

/** A sequence and the places of its targets, ascending, none 0. */
export interface TargetSequence extends TrainSequence {
  readonly places: Places;
}

/**
 * `texts`: tokens and mask alone. `rollouts`: advantages and old log-probs too. `pairs`: sequences 2i and 2i
 * + 1 are the chosen and the rejected one of pair i, and both come in one micro-batch.
 */
export type LossData = 'texts' | 'rollouts' | 'pairs';

/** How a number of a batch follows from those of its optimiser steps: their mean, or the first step's. */
export type OverSteps = 'mean' | 'first';

/** Adds up what a step reports about its tokens. */
export interface Tally {
  /** Feeds and log-probs [M] of one run of the graph. */
  add(feeds: Feeds, logProbs: ArrayLike<number>): void;
  /** By the names in `metrics`; `targets` = number of target tokens of the step, at least 1. */
  numbers(targets: number): Readonly<Record<string, number>>;
}

/**
 * A loss that our training service computes itself, token by token, from weights, advantages and old
 * log-probs: its name and settings there (trainer/millrace_trainer/losses.py).
 */
export interface ServiceLoss {
  readonly name: string;
  readonly config: Readonly<Record<string, number>>;
  /** The weight of each token of a row of the batch, without the importance weight. */
  weights(sequences: readonly TargetSequence[]): (row: number) => number;
}

/** What `defineLoss` takes. `M` is the number of target tokens in a micro-batch. */
export interface LossDefinition<
  Settings extends z.ZodObject,
  Variant,
  Data extends LossData = LossData,
> {
  /** With their defaults and a line on each, which jobs show. Unknown settings are refused. */
  readonly settings: Settings;
  readonly data: Data;
  /**
   * Whether it reads `refLogProbs`, which cost a pass of the reference policy over the batch; left out =
   * never.
   */
  reference?(settings: z.output<Settings>): boolean;
  /** What of the settings the graph depends on, as plain data; numbers that are fed do not belong here. */
  variant(settings: z.output<Settings>): Variant;
  /**
   * The loss of a micro-batch (a scalar) over log-probs and entropies [M] of its targets. Inputs that it adds
   * to the graph are what `feeds` feeds. If the gradient is not that of the value, `Graph.derive` states
   * it.
   */
  graph(judged: Judged, variant: Variant): Value;
  /**
   * For a batch, the feeds of the micro-batch of these rows; targets come row by row. Throws when data is
   * missing. Real numbers are float64 here; the trainer rounds them to what its graph computes in.
   */
  feeds(
    sequences: readonly TargetSequence[],
    settings: z.output<Settings>,
  ): (rows: readonly number[]) => Feeds;
  /**
   * Whether a sequence may have a gradient; if no row of a micro-batch has one, only log-probs are computed.
   * False promises a gradient and a loss of exactly 0. Left out = every sequence may.
   */
  learns?(sequence: TargetSequence, settings: z.output<Settings>): boolean;
  /** Null = with these settings a service that has the loss cannot compute it; left out = never. */
  onService?(settings: z.output<Settings>): ServiceLoss | null;
  /** What it reports besides loss and entropy, by their names in docs/metrics.md. */
  readonly metrics: Readonly<Record<string, OverSteps>>;
  /** Left out = it reports nothing of its own. */
  tally?(): Tally;
  /** Settings under which every part of the graph exists: for testing devices and threads. */
  readonly trial: z.input<Settings>;
}

/** A loss with its settings checked, as a trainer uses it. */
export interface PreparedLoss {
  readonly data: LossData;
  readonly reference: boolean;
  readonly metrics: Readonly<Record<string, OverSteps>>;
  /** Settings with equal variants have one graph. */
  readonly variant: unknown;
  readonly onService: ServiceLoss | null;
  graph(judged: Judged): Value;
  feeds(sequences: readonly TargetSequence[]): (rows: readonly number[]) => Feeds;
  learns(sequence: TargetSequence): boolean;
  tally(): Tally;
}

/** A loss without settings. */
export interface AnyLoss<
  Settings extends z.ZodObject = z.ZodObject,
  Data extends LossData = LossData,
> {
  readonly settings: Settings;
  readonly data: Data;
  readonly trial: z.input<Settings>;
  /** Throws zod's error if the settings are invalid. */
  prepare(settings: unknown): PreparedLoss;
}

const nothing: Tally = { add: () => undefined, numbers: () => ({}) };

/** A loss from its parts. */
export function defineLoss<Settings extends z.ZodObject, Variant, Data extends LossData>(
  definition: LossDefinition<Settings, Variant, Data>,
): AnyLoss<Settings, Data> {
  const { data, metrics, trial } = definition;
  const schema = definition.settings.strict();
  return {
    settings: definition.settings,
    data,
    trial,
    prepare(given) {
      const settings = schema.parse(given) as z.output<Settings>;
      const variant = definition.variant(settings);
      return {
        data,
        metrics,
        variant,
        reference: definition.reference?.(settings) ?? false,
        onService: definition.onService?.(settings) ?? null,
        graph: (judged) => definition.graph(judged, variant),
        feeds: (sequences) => definition.feeds(sequences, settings),
        learns: (sequence) => definition.learns?.(sequence, settings) ?? true,
        tally: () => definition.tally?.() ?? nothing,
      };
    },
  };
}
