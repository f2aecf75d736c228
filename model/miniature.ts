/**
 * A small network of the same kind as another: every part that it has, few layers, narrow, weights that
 * matter.
 *
 * For trying out what computes it. The weights are made of the names and sizes alone, so they are the same
 * everywhere.
 */

import { draws } from '../base/index.ts';
import { type DecoderConfig, headDim, initialise, type Tensors } from './config.ts';

export function miniature(config: DecoderConfig, vocabSizeMax: number): DecoderConfig {
  const kvHeads = Math.min(config.kvHeads, 2);
  return {
    ...config,
    layers: Math.min(config.layers, 2),
    vocabSize: Math.min(config.vocabSize, vocabSizeMax),
    hiddenSize: Math.min(config.hiddenSize, 128),
    intermediateSize: Math.min(config.intermediateSize, 256),
    heads: kvHeads * (config.heads / config.kvHeads),
    kvHeads,
    headDim: headDim(config),
  };
}

/**
 * `initialise` makes first weights, under which all tokens are about equally likely: these are more spread
 * out.
 */
export function spreadWeights(config: DecoderConfig): Tensors {
  const tensors = initialise(config, 0);
  const spread = 50 / Math.sqrt(config.hiddenSize);
  for (const [name, { shape, data }] of tensors) {
    const stream = draws('spread', name);
    if (shape.length > 1) for (let i = 0; i < data.length; i++) data[i] = spread * (data[i] ?? 0);
    else for (let i = 0; i < data.length; i++) data[i] = (data[i] ?? 0) + stream.uniform(i) / 4;
  }
  return tensors;
}

/** Tokens of `count` sequences of these lengths. */
export function someTokens(
  { vocabSize }: DecoderConfig,
  lengths: readonly number[],
): readonly Int32Array[] {
  return lengths.map((length, row) => {
    const stream = draws('tokens', row);
    return Int32Array.from({ length }, (_, place) => stream.integer(place, vocabSize));
  });
}
