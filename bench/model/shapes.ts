/**
 * The policies that are measured, by their number of parameters, and the operations that they cost.
 *
 * Weights are untrained: speed does not depend on them.
 */
import { type DecoderConfig, headDim } from '../../model/config.ts';

const COMMON = {
  architecture: 'llama',
  rmsEps: 1e-6,
  attentionBias: false,
} as const;

/** What every Qwen2.5 has. */
const QWEN = {
  ...COMMON,
  architecture: 'qwen2',
  attentionBias: true,
  vocabSize: 151_936,
  ropeTheta: 1_000_000,
} as const;

export type ShapeName = '4M' | '48M' | '135M' | '494M' | '1544M' | '7616M';

export const SHAPES: Readonly<Record<ShapeName, DecoderConfig>> = {
  '4M': {
    ...COMMON,
    vocabSize: 64,
    hiddenSize: 256,
    layers: 4,
    heads: 8,
    kvHeads: 4,
    intermediateSize: 1024,
    ropeTheta: 10_000,
    tiedEmbeddings: false,
  },
  '48M': {
    ...COMMON,
    vocabSize: 4096,
    hiddenSize: 768,
    layers: 6,
    heads: 12,
    kvHeads: 4,
    intermediateSize: 2304,
    ropeTheta: 10_000,
    tiedEmbeddings: false,
  },
  /** SmolLM2-135M. */
  '135M': {
    ...COMMON,
    rmsEps: 1e-5,
    vocabSize: 49_152,
    hiddenSize: 576,
    layers: 30,
    heads: 9,
    kvHeads: 3,
    intermediateSize: 1536,
    ropeTheta: 100_000,
    tiedEmbeddings: true,
  },
  /** Qwen2.5-0.5B. */
  '494M': {
    ...QWEN,
    hiddenSize: 896,
    layers: 24,
    heads: 14,
    kvHeads: 2,
    intermediateSize: 4864,
    tiedEmbeddings: true,
  },
  /** Qwen2.5-1.5B. */
  '1544M': {
    ...QWEN,
    hiddenSize: 1536,
    layers: 28,
    heads: 12,
    kvHeads: 2,
    intermediateSize: 8960,
    tiedEmbeddings: true,
  },
  /** Qwen2.5-7B. */
  '7616M': {
    ...QWEN,
    vocabSize: 152_064,
    hiddenSize: 3584,
    layers: 28,
    heads: 28,
    kvHeads: 4,
    intermediateSize: 18_944,
    tiedEmbeddings: false,
  },
};

/**
 * Operations of one token forward: every weight of a linear layer twice, and attention over `context` places.
 */
export function forwardFlops(config: DecoderConfig, context: number): number {
  const { hiddenSize, intermediateSize, heads, kvHeads, layers, vocabSize } = config;
  const width = headDim(config);
  const attention = 2 * (heads + kvHeads) * width * hiddenSize;
  const layer = attention + 3 * hiddenSize * intermediateSize;
  return 2 * (layers * layer + vocabSize * hiddenSize) + 4 * layers * heads * width * context;
}

/**
 * Operations of one trained token: twice as many again for the gradients. Attention counts all `length`
 * places.
 */
export function trainFlops(config: DecoderConfig, length: number): number {
  return 3 * forwardFlops(config, length);
}

/** Bytes of keys and values that one decoded token reads. */
export function cacheBytes(config: DecoderConfig, context: number): number {
  return 2 * 4 * config.layers * config.kvHeads * headDim(config) * context;
}
