/** The shape of the quickstart's policy: a Llama-style decoder of 0.9 million parameters, and its chat template. */
import type { DecoderConfig, Tokenizer } from 'millrace';

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

/** A question as the policy sees it. */
export function prompt(tokenizer: Tokenizer): (question: string) => Int32Array {
  const open = tokenizer.encode('<|question|>');
  const close = tokenizer.encode('<|end|>');
  return (question) =>
    Int32Array.from([...open, ...tokenizer.encode(question, { tags: false }), ...close]);
}
