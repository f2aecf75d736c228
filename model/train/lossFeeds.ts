/**
 * The feeds that a loss needs beside the sequences: per-token weights, advantages, old log-probs, bounds.
 */
import type { Loss, TrainSequence } from '../engine.ts';
import type { Feed, Feeds } from '../runtime/session.ts';
import { tokenWeights } from './aggregation.ts';
import type { MicroBatch } from './microBatches.ts';
import type { Targets } from './sequenceFeeds.ts';

/** For a batch, the feeds of each micro-batch. Weights are those of the whole batch. */
export function lossFeeds(
  sequences: readonly TrainSequence[],
  targets: readonly Targets[],
  loss: Loss,
): (part: MicroBatch) => Feeds {
  const weights = batchWeights(targets, loss);
  const vector = (part: MicroBatch, value: (row: number, place: number) => number): Feed => {
    const values = part.rows.flatMap((row) =>
      (targets[row] as Targets).places.map((place) => value(row, place)),
    );
    return { shape: [values.length], data: Float32Array.from(values) };
  };
  const at = (values: Float32Array | undefined, place: number) => values?.[place] ?? Number.NaN;
  if (loss.kind === 'sft')
    return (part) => ({ weights: vector(part, (row) => weights[row] as number) });
  const bounds = {
    ratioMin: scalar(1 - loss.clipLow),
    ratioMax: scalar(1 + loss.clipHigh),
    clipC: scalar(loss.clipC),
    keepClipped: scalar(loss.entropyBalance?.clipping ? 1 : 0),
    entropyWeight: scalar(loss.entropyBalance?.advantageWeight ?? 0),
  };
  return (part) => ({
    weights: vector(part, (row) => weights[row] as number),
    advantages: vector(part, (row, place) => at(sequences[row]?.advantages, place)),
    oldLogProbs: vector(part, (row, place) => at(sequences[row]?.oldLogProbs, place)),
    ...bounds,
  });
}

function batchWeights(targets: readonly Targets[], loss: Loss): readonly number[] {
  const counts = targets.map(({ places }) => places.length);
  if (loss.kind === 'sft') {
    const total = counts.reduce((sum, count) => sum + count, 0);
    return counts.map(() => 1 / total);
  }
  const responses = targets.map(
    ({ tokens, places }) => tokens.length - (places[0] ?? tokens.length),
  );
  return tokenWeights(counts, loss.aggregation, Math.max(1, ...responses));
}

function scalar(value: number): Feed {
  return { shape: [], data: Float32Array.of(value) };
}
