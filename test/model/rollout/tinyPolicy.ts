/**
 * Small random policies for tests, with matrices large enough that tokens are far from equally likely.
 */
import { type DecoderConfig, initialise, type Tensors } from '../../../model/config.ts';

export const TINY: DecoderConfig = {
  architecture: 'qwen2',
  vocabSize: 50,
  hiddenSize: 32,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  intermediateSize: 48,
  ropeTheta: 10_000,
  rmsEps: 1e-6,
  attentionBias: true,
  tiedEmbeddings: true,
};

/** `initialise`, with matrices eight times as large and small random biases. */
export function strongWeights(config: DecoderConfig, seed: number): Tensors {
  const tensors = initialise(config, seed);
  for (const [name, { data }] of tensors) {
    if (name.endsWith('.bias'))
      for (let i = 0; i < data.length; i++) data[i] = 0.3 * Math.sin(i * 1.7 + seed);
    else if (!name.endsWith('norm.weight')) for (let i = 0; i < data.length; i++) data[i]! *= 8;
  }
  return tensors;
}
