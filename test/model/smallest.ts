/** The smallest policy that has all its parts: two layers, shared key heads, a tied head. */
import type { DecoderConfig } from '../../model/config.ts';

export const smallest: DecoderConfig = {
  architecture: 'llama',
  vocabSize: 24,
  hiddenSize: 16,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  intermediateSize: 24,
  ropeTheta: 10000,
  maxPositions: 64,
  rmsEps: 1e-6,
  attentionBias: false,
  tiedEmbeddings: true,
};
