/** Named shapes of policies: small ones for trying things, and those of well-known checkpoints. */
import type { DecoderConfig } from '../../model/index.ts';

type Architecture = DecoderConfig['architecture'];

/** What a size defines; biases and norms follow from the architecture. */
export type Shape = Omit<DecoderConfig, 'attentionBias' | 'outputBias' | 'mlpBias' | 'qkNorm'>;

const small = { ropeTheta: 10000, maxPositions: 2048, rmsEps: 1e-6, tiedEmbeddings: true } as const;

export const SIZES: Readonly<Record<string, Shape>> = {
  tiny: {
    architecture: 'qwen3',
    vocabSize: 512,
    hiddenSize: 64,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    intermediateSize: 192,
    ...small,
  },
  '4m': {
    architecture: 'qwen3',
    vocabSize: 512,
    hiddenSize: 256,
    layers: 4,
    heads: 8,
    kvHeads: 4,
    intermediateSize: 1024,
    ...small,
  },
  '48m': {
    architecture: 'qwen3',
    vocabSize: 4096,
    hiddenSize: 768,
    layers: 6,
    heads: 12,
    kvHeads: 6,
    intermediateSize: 2432,
    ...small,
  },
  // SmolLM2-135M
  '135m': {
    architecture: 'llama',
    vocabSize: 49152,
    hiddenSize: 576,
    layers: 30,
    heads: 9,
    kvHeads: 3,
    intermediateSize: 1536,
    ropeTheta: 100000,
    maxPositions: 8192,
    rmsEps: 1e-5,
    tiedEmbeddings: true,
  },
  // Qwen2.5-0.5B
  '0.5b': {
    architecture: 'qwen2',
    vocabSize: 151936,
    hiddenSize: 896,
    layers: 24,
    heads: 14,
    kvHeads: 2,
    intermediateSize: 4864,
    ropeTheta: 1000000,
    maxPositions: 32768,
    rmsEps: 1e-6,
    tiedEmbeddings: true,
  },
  // Qwen3-0.6B
  '0.6b': {
    architecture: 'qwen3',
    vocabSize: 151936,
    hiddenSize: 1024,
    layers: 28,
    heads: 16,
    kvHeads: 8,
    headDim: 128,
    intermediateSize: 3072,
    ropeTheta: 1000000,
    maxPositions: 40960,
    rmsEps: 1e-6,
    tiedEmbeddings: true,
  },
};

export const ARCHITECTURES: readonly Architecture[] = ['llama', 'qwen2', 'qwen3'];

/** The whole configuration: Qwen2 has biases on q, k and v; Qwen3 has norms on q and k. */
export function withFeatures(shape: Shape): DecoderConfig {
  return {
    ...shape,
    attentionBias: shape.architecture === 'qwen2',
    ...(shape.architecture === 'qwen3' ? { qkNorm: true } : {}),
  };
}
