/** `engine.server=embedded`: ONNX Runtime in a worker thread of this process. */
import { z } from 'zod';
import { EmbeddedEngine, ROWS, tokenBytes } from '../../model/rollout/index.ts';
import type { EngineKind } from './places.ts';

const settings = {
  rows: z
    .number()
    .int()
    .positive()
    .default(ROWS)
    .describe('embedded: responses generated concurrently; fewer need less memory'),
};

/** The embedded engine. Its settings do not change what it generates. */
export const embeddedEngine: EngineKind<typeof settings> = {
  settings,
  open({ rows }, { policy, tokenizer, threads, provider, swap, contextMax, clock }) {
    const sizes = { rowsMax: rows, contextMax, tokenBytes: tokenBytes(tokenizer) };
    return EmbeddedEngine.create({ weights: policy, provider, threads, swap, clock, ...sizes });
  },
};
