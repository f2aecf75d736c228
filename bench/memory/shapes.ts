/**
 * The policies whose memory is measured; their weights are untrained, which makes no difference to memory.
 */
import type { DecoderConfig } from '../../model/config.ts';

const common = {
  architecture: 'llama',
  ropeTheta: 100_000,
  rmsEps: 1e-5,
  attentionBias: false,
  tiedEmbeddings: true,
} as const;

type Sizes = Pick<
  DecoderConfig,
  'vocabSize' | 'hiddenSize' | 'layers' | 'heads' | 'kvHeads' | 'intermediateSize'
>;

const shaped = (sizes: Sizes): DecoderConfig => ({ ...common, ...sizes });

/** Shaped like a toy, SmolLM2-135M and SmolLM2-360M. */
export const SHAPES = {
  '20M': shaped({
    ...{ vocabSize: 32_000, hiddenSize: 320, layers: 8 },
    ...{ heads: 5, kvHeads: 5, intermediateSize: 864 },
  }),
  '135M': shaped({
    ...{ vocabSize: 49_152, hiddenSize: 576, layers: 30 },
    ...{ heads: 9, kvHeads: 3, intermediateSize: 1536 },
  }),
  '362M': shaped({
    ...{ vocabSize: 49_152, hiddenSize: 960, layers: 32 },
    ...{ heads: 15, kvHeads: 5, intermediateSize: 2560 },
  }),
} as const;

export type ShapeName = keyof typeof SHAPES;
