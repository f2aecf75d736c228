/**
 * Demonstrations and preference pairs as training sequences: the batch refers to them, the texts lie in their topics.
 *
 * A sequence longer than `tokensMax`, or without a token to learn, is left out (with its pair) and counted; a cut-off
 * one would teach a response without its end.
 */
import type { TrainSequence } from '../../model/engine.ts';
import type { Log } from '../../streams/log.ts';
import type { Batch } from '../../streams/records.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../streams/topics.ts';
import type { PreparedBatch } from './prepared.ts';

/** A question and the text of a response as tokens, with the targets in the mask. */
export type EncodeExample = (question: string, text: string) => TrainSequence;

export interface ExampleBatchOptions {
  readonly encode: EncodeExample;
  readonly log: Log;
  /** Longest sequence in tokens, prompt included. */
  readonly tokensMax: number;
}

/** One optimiser step on demonstrations. */
export async function demonstrationBatch(
  batch: Batch,
  options: ExampleBatchOptions,
): Promise<PreparedBatch> {
  const found = await fetched(topics.demonstrations, batch, options.log);
  const examples = found.map(({ value: { question, kept }, index }) => [
    options.encode(question.question, kept[index]!.text),
  ]);
  return preparedOf(examples, options.tokensMax);
}

/** One optimiser step on pairs: each the chosen sequence, then the rejected one. */
export async function pairBatch(
  batch: Batch,
  options: ExampleBatchOptions,
): Promise<PreparedBatch> {
  const found = await fetched(topics.pairs, batch, options.log);
  const examples = found.map(({ value: { question, pairs }, index }) => {
    const { chosen, rejected } = pairs[index]!;
    return [chosen, rejected].map((text) => options.encode(question.question, text));
  });
  return preparedOf(examples, options.tokensMax);
}

/** The records that the batch refers to, each with the place within it. */
async function fetched<T>(
  topic: Topic<T>,
  { examples }: Batch,
  log: Log,
): Promise<{ readonly value: T; readonly index: number }[]> {
  const stored = await log.fetch(
    topic,
    examples.map(({ position }) => position),
  );
  return stored.map(({ value }, i) => ({ value, index: examples[i]!.index }));
}

function preparedOf(
  examples: readonly (readonly TrainSequence[])[],
  tokensMax: number,
): PreparedBatch {
  const fits = ({ tokens, mask }: TrainSequence): boolean =>
    tokens.length <= tokensMax && mask.includes(1);
  const kept = examples.filter((sequences) => sequences.every(fits));
  return {
    steps: [kept.flat().map((sequence) => ({ sequence, lags: false }))],
    numbers: { examples: kept.length, 'examples/dropped': examples.length - kept.length },
  };
}
