/** `engine.server=embedded`: ONNX Runtime in a worker thread of this process. */
import { z } from 'zod';
import { EmbeddedEngine, ROWS, tokenBytes } from '../../model/rollout/index.ts';
import { EmbeddedTrainer } from '../../model/train/index.ts';
import type { EngineKind } from './places.ts';

const settings = {
  rows: z
    .number()
    .int()
    .positive()
    .default(ROWS)
    .describe('embedded: responses generated concurrently; fewer need less memory'),
  weights: z
    .enum(['float32', 'int8'])
    .default('float32')
    .describe(
      'embedded: numbers that generation computes with; int8 is faster, and its log-probs differ a little from the trainer’s (docs/jobs.md#weights-in-8-bits)',
    ),
};

/** The embedded engine. */
export const embeddedEngine: EngineKind<typeof settings> = {
  settings,
  open({ rows, weights: bits }, place) {
    const { policy, tokenizer, threads, provider, swap, contextMax, clock, trainer } = place;
    const sizes = { rowsMax: rows, contextMax, tokenBytes: tokenBytes(tokenizer) };
    // the trainer has read the policy, and its version 0 is loaded before anything is generated
    const lazy = provider === 'cpu' && trainer instanceof EmbeddedTrainer;
    const how = { provider, threads, bits, swap, clock, lazy };
    return EmbeddedEngine.create({ weights: policy, ...how, ...sizes });
  },
};
