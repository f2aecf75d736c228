/**
 * The feeds that a loss needs beside the sequences: per-token weights, advantages, log-probs to compare
 * with, bounds and coefficients.
 */
import type { Loss, TrainSequence } from '../engine.ts';
import type { Feed, Feeds } from '../runtime/session.ts';
import { tokenWeights } from './aggregation.ts';
import type { MicroBatch } from './microBatches.ts';
import type { PolicyTerms } from './policyTerms.ts';
import type { Targets } from './sequenceFeeds.ts';

type PolicyLoss = Extract<Loss, { readonly kind: 'policy' }>;

/** For a batch, the feeds of each micro-batch. Weights are those of the whole batch. */
export function lossFeeds(
  sequences: readonly TrainSequence[],
  targets: readonly Targets[],
  loss: Loss,
): (part: MicroBatch) => Feeds {
  const vector = (part: MicroBatch, value: (row: number, place: number) => number): Feed => {
    const values = part.rows.flatMap((row) =>
      (targets[row] as Targets).places.map((place) => value(row, place)),
    );
    return { shape: [values.length], data: Float32Array.from(values) };
  };
  const at = (values: Float32Array | undefined, place: number) => values?.[place] ?? Number.NaN;
  const refLogProbs = (part: MicroBatch) =>
    vector(part, (row, place) => at(sequences[row]?.refLogProbs, place));
  if (loss.kind === 'dpo') {
    checkPairs(targets);
    checkReferences(sequences);
    const beta = scalar(loss.beta);
    return (part) => ({ refLogProbs: refLogProbs(part), beta, ...pairFeeds(targets, part) });
  }
  const weights = batchWeights(targets, loss);
  const weight = (row: number) => weights[row] as number;
  if (loss.kind === 'sft') return (part) => ({ weights: vector(part, weight) });
  const { kl, entropy } = termsOf(loss);
  if (kl !== null) checkReferences(sequences);
  const scalars = { ...bounds(loss), ...coefficients(loss) };
  return (part) => ({
    weights: vector(part, (row, place) => {
      const importance = sequences[row]?.importance;
      return importance === undefined ? weight(row) : weight(row) * at(importance, place);
    }),
    advantages: vector(part, (row, place) => at(sequences[row]?.advantages, place)),
    oldLogProbs: vector(part, (row, place) => at(sequences[row]?.oldLogProbs, place)),
    ...(kl === null ? {} : { refLogProbs: refLogProbs(part) }),
    ...(kl === null && !entropy ? {} : { termWeights: vector(part, weight) }),
    ...scalars,
  });
}

/** The terms that this loss has: which graph it needs. */
export function termsOf(loss: Loss): PolicyTerms {
  if (loss.kind !== 'policy') return { kl: null, entropy: false };
  return { kl: loss.kl?.kind ?? null, entropy: (loss.entropyCoefficient ?? 0) !== 0 };
}

function bounds(loss: PolicyLoss): Feeds {
  return {
    ratioMin: scalar(1 - loss.clipLow),
    ratioMax: scalar(1 + loss.clipHigh),
    clipC: scalar(loss.clipC),
    keepClipped: scalar(loss.entropyBalance?.clipping ? 1 : 0),
    entropyWeight: scalar(loss.entropyBalance?.advantageWeight ?? 0),
  };
}

function coefficients(loss: PolicyLoss): Feeds {
  const { kl, entropy } = termsOf(loss);
  return {
    ...(kl === null ? {} : { klCoefficient: scalar(loss.kl?.coefficient ?? 0) }),
    ...(entropy ? { entropyCoefficient: scalar(loss.entropyCoefficient ?? 0) } : {}),
  };
}

function checkReferences(sequences: readonly TrainSequence[]): void {
  const row = sequences.findIndex(
    ({ tokens, refLogProbs }) => refLogProbs?.length !== tokens.length,
  );
  if (row >= 0)
    throw new Error(
      `sequence ${row} has no reference log-prob for every token: score it with the reference policy`,
    );
}

function checkPairs(targets: readonly Targets[]): void {
  if (targets.length % 2 === 1)
    throw new Error(
      `${targets.length} sequences are not pairs: give a rejected one to each chosen`,
    );
  const row = targets.findIndex(({ places }) => places.length === 0);
  if (row >= 0) throw new Error(`sequence ${row} has no target tokens: leave its pair out`);
}

/** `pairs` [P, M] and `weights` [P] of a micro-batch whose rows come pair by pair. */
function pairFeeds(targets: readonly Targets[], { rows }: MicroBatch): Feeds {
  const counts = rows.map((row) => (targets[row] as Targets).places.length);
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  const count = rows.length / 2;
  const signs = new Float32Array(count * tokens);
  let at = 0;
  for (const [index, length] of counts.entries()) {
    const start = Math.floor(index / 2) * tokens + at;
    signs.fill(index % 2 === 0 ? 1 : -1, start, start + length);
    at += length;
  }
  const weights = new Float32Array(count).fill(2 / targets.length);
  return {
    pairs: { shape: [count, tokens], data: signs },
    weights: { shape: [count], data: weights },
  };
}

/** The weight of a target token, per sequence. */
function batchWeights(
  targets: readonly Targets[],
  loss: Exclude<Loss, { readonly kind: 'dpo' }>,
): readonly number[] {
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
