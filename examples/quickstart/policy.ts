/** The shape of the quickstart's policy: a Llama-style decoder of 0.9 million parameters. */
import type { DecoderConfig } from 'millrace';

export const CONFIG: Omit<DecoderConfig, 'vocabSize'> = {
  architecture: 'qwen2',
  hiddenSize: 128,
  layers: 4,
  heads: 4,
  kvHeads: 2,
  intermediateSize: 384,
  ropeTheta: 10000,
  rmsEps: 1e-6,
  attentionBias: false,
  tiedEmbeddings: true,
};
