/** Steps of the trainer: batches as tensors, checks, what is kept. */
export type { EncodeExample, EncodeGiven } from './exampleBatch.ts';
