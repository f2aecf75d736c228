/**
 * Demonstrations and preference pairs as training sequences: the batch refers to them, the texts are in their
 * topics.
 *
 * A sequence longer than `tokensMax`, or without a token to learn, is left out (with its pair) and counted; a
 * cut-off one would teach a response without its end. If that is wanted anyway (`tooLong: 'cut'`)
 * its beginning is kept.
 */
import type { TrainSequence } from '../../model/index.ts';
import type { Log, Topic } from '../../streams/index.ts';
import { type Batch, type Demonstration, type Question, topics } from '../../topics/index.ts';
import type { PreparedBatch } from './prepared.ts';

/** A question and the text of a response as tokens, with the targets in the mask. */
export type EncodeExample = (question: string, text: string) => TrainSequence;

/** A demonstration from a data file as sequences: one, or as many as its chat template needs. */
export type EncodeGiven = (
  question: Question,
  given: Demonstration,
  encode: EncodeExample,
) => readonly TrainSequence[];

export interface ExampleBatchOptions {
  readonly encode: EncodeExample;
  /** For demonstrations of the action `given`. Default: `encode`, as for all others. */
  readonly encodeGiven?: EncodeGiven;
  readonly log: Log;
  /** Longest sequence in tokens, prompt included. */
  readonly tokensMax: number;
  /** A demonstration that is longer is left out (default), or its first tokens are trained on. */
  readonly tooLong?: 'drop' | 'cut';
}

/** One optimiser step on demonstrations. */
export async function demonstrationBatch(
  batch: Batch,
  options: ExampleBatchOptions,
): Promise<PreparedBatch> {
  const found = await fetched(topics.demonstrations, batch, options.log);
  const { encode, encodeGiven, tokensMax } = options;
  const examples = found.map(({ value: { question, kept }, index }) => {
    const one = kept[index]!;
    return one.action === 'given' && encodeGiven !== undefined
      ? encodeGiven(question, one, encode)
      : [encode(question.question, one.text)];
  });
  if (options.tooLong !== 'cut') return preparedOf(examples, tokensMax);
  const isLong = ({ tokens }: TrainSequence): boolean => tokens.length > tokensMax;
  const long = examples.filter((sequences) => sequences.some(isLong)).length;
  const fitting = examples.map((sequences) => sequences.map((one) => cut(one, tokensMax)));
  const { steps, numbers } = preparedOf(fitting, tokensMax);
  return { steps, numbers: { ...numbers, 'examples/cut': long } };
}

function cut(sequence: TrainSequence, length: number): TrainSequence {
  if (sequence.tokens.length <= length) return sequence;
  return {
    tokens: sequence.tokens.slice(0, length),
    mask: sequence.mask.slice(0, length),
    advantages: sequence.advantages.slice(0, length),
    oldLogProbs: sequence.oldLogProbs.slice(0, length),
  };
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

/** The records that the batch refers to, each with its index there. */
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
