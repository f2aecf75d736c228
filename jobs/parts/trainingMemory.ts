/**
 * Memory of a process that trains a policy on the CPU, from its shape and the largest micro-batch.
 *
 * Copies of the weights, activations of every layer, attention, logits, and what the runtime takes anyhow.
 * The factors were fitted to the peaks of 20, 135 and 362 million parameters, full and LoRA, which they meet
 * within 15 % (test/jobs/parts/trainingMemory.test.ts; `npm run bench:memory` measures them).
 */
import { type DecoderConfig, headDim } from '../../model/index.ts';
import { microBatchTokens, VOCABULARY_CHUNK } from '../../model/train/index.ts';

/** What is trained, as far as it affects memory. */
export interface Training {
  /** All weights; an adapter whose versions are whole policies (`merged`) or small files (`adapter`). */
  readonly kind: 'full' | 'merged' | 'adapter';
  /** Activations are recomputed instead of kept. */
  readonly recompute: boolean;
}

/** The largest micro-batch. */
export interface LargestPart {
  readonly rows: number;
  readonly length: number;
}

const FLOAT = 4;
/** Used by Node.js, the runtime, its graphs and the job. */
const PROCESS_BYTES = 275 * 2 ** 20;
/**
 * Copies of the weights. Full: weights, gradients, two moments, and three of gradients on their way from the
 * runtime's memory into the sums. An adapter's own numbers are few; a merged version is one copy more.
 */
const COPIES = { full: 7, merged: 2.1, adapter: 1.25 } as const;
/** How many matrices as large as a chunk of logits exist at once. */
const LOGITS = 8;

/** Bytes of a process that trains `parameters` parameters of this shape. */
export function trainingMemory(
  config: DecoderConfig,
  parameters: number,
  { kind, recompute }: Training,
  { rows, length }: LargestPart,
): number {
  const { hiddenSize, intermediateSize, heads, kvHeads, layers, vocabSize } = config;
  const tokens = rows * length;
  const attended = 2 * (heads + kvHeads) * headDim(config);
  const layer = tokens * (4 * hiddenSize + attended + 4 * intermediateSize + heads * length);
  const kept = recompute ? layer + layers * tokens * hiddenSize : layers * layer;
  const logits = LOGITS * tokens * Math.min(vocabSize, VOCABULARY_CHUNK);
  return PROCESS_BYTES + FLOAT * (COPIES[kind] * parameters + kept + logits);
}

/** The largest micro-batch of sequences of up to `contextMax` tokens. */
export function largestPart(config: DecoderConfig, contextMax: number): LargestPart {
  const rows = Math.max(1, Math.floor(microBatchTokens(config) / contextMax));
  return { rows, length: contextMax };
}
