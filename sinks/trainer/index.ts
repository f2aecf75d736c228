/** Steps of the trainer: batches as tensors, checks, what is kept. */
export type { EncodeExample, EncodeGiven } from './exampleBatch.ts';
export { heldOutNumbers } from './heldOutNumbers.ts';
