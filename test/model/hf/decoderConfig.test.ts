/** `config.json` to the decoder's configuration and back. */
import { expect, test } from '@jest/globals';
import type { DecoderConfig } from '../../../model/config.ts';
import { readDecoderConfig, writeDecoderConfig } from '../../../model/hf/decoderConfig.ts';

const sizes = {
  vocab_size: 100,
  hidden_size: 32,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  intermediate_size: 64,
};
const read = (json: object) => readDecoderConfig('c.json', { ...sizes, ...json });

test('a Llama 2 without optional fields has the defaults of its class', () => {
  const { num_key_value_heads: _, ...old } = sizes;
  expect(readDecoderConfig('c.json', { ...old, model_type: 'llama' })).toEqual({
    architecture: 'llama',
    vocabSize: 100,
    hiddenSize: 32,
    layers: 2,
    heads: 4,
    kvHeads: 4,
    intermediateSize: 64,
    ropeTheta: 10000,
    maxPositions: 2048,
    rmsEps: 1e-6,
    attentionBias: false,
    tiedEmbeddings: false,
  });
});

test('model families differ in biases, norms and head width', () => {
  expect(read({ model_type: 'qwen2' })).toMatchObject({ attentionBias: true, maxPositions: 32768 });
  expect(read({ model_type: 'qwen2' })).not.toHaveProperty('outputBias');
  expect(read({ model_type: 'qwen3' })).toMatchObject({
    qkNorm: true,
    headDim: 128,
    attentionBias: false,
  });
  expect(read({ model_type: 'qwen3', head_dim: 8 })).not.toHaveProperty('headDim');
  expect(read({ model_type: 'llama', attention_bias: true, mlp_bias: true })).toMatchObject({
    attentionBias: true,
    outputBias: true,
    mlpBias: true,
  });
});

test('rotary scaling is read in the forms of transformers 4 and 5', () => {
  const scaled = {
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 512,
  };
  const expected = {
    ropeTheta: 5e5,
    ropeScaling: {
      kind: 'llama3',
      factor: 8,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalMaxPositions: 512,
    },
  };
  expect(
    read({ model_type: 'llama', rope_theta: 5e5, rope_scaling: { ...scaled, type: 'llama3' } }),
  ).toMatchObject(expected);
  expect(
    read({
      model_type: 'llama',
      rope_parameters: { ...scaled, rope_type: 'llama3', rope_theta: 5e5 },
    }),
  ).toMatchObject(expected);
  expect(read({ model_type: 'llama', rope_scaling: { type: 'linear', factor: 2 } })).toMatchObject({
    ropeScaling: { kind: 'linear', factor: 2 },
  });
  expect(
    read({
      model_type: 'llama',
      max_position_embeddings: 64,
      rope_scaling: { type: 'yarn', factor: 4 },
    }),
  ).toMatchObject({
    ropeScaling: { kind: 'yarn', factor: 4, originalMaxPositions: 64 },
  });
  expect(
    read({ model_type: 'llama', rope_parameters: { rope_type: 'default', rope_theta: 7 } }),
  ).not.toHaveProperty('ropeScaling');
});

const base = read({ model_type: 'llama' });
test.each<[string, DecoderConfig]>([
  ['llama', base],
  ['llama with biases', { ...base, attentionBias: true, outputBias: true, mlpBias: true }],
  ['qwen2', { ...base, architecture: 'qwen2', attentionBias: true, tiedEmbeddings: true }],
  ['qwen3', { ...base, architecture: 'qwen3', qkNorm: true, headDim: 16 }],
  ['dynamic', { ...base, ropeScaling: { kind: 'dynamic', factor: 2 } }],
  [
    'yarn',
    {
      ...base,
      ropeScaling: {
        kind: 'yarn',
        factor: 4,
        originalMaxPositions: 64,
        betaFast: 16,
        betaSlow: 2,
        attentionFactor: 1.1,
        mscale: 1,
        mscaleAllDim: 0.5,
        truncate: false,
      },
    },
  ],
])('the configuration of %s is read back as it was written', (_, config) => {
  const json = JSON.parse(JSON.stringify(writeDecoderConfig(config, 'bfloat16')));
  expect(readDecoderConfig('c.json', json)).toEqual(config);
});

test('a Qwen2 without biases is written as the Llama that it is', () => {
  const bare: DecoderConfig = { ...base, architecture: 'qwen2' };
  const json = writeDecoderConfig(bare, 'float32');
  expect(json).toMatchObject({ model_type: 'llama', architectures: ['LlamaForCausalLM'] });
  expect(readDecoderConfig('c.json', json)).toEqual({ ...bare, architecture: 'llama' });
});

test('a decoder that no family describes is refused', () => {
  const config: DecoderConfig = { ...base, qkNorm: true, attentionBias: true };
  expect(() => writeDecoderConfig(config, 'float32')).toThrow(
    'cannot have norms on q and k: save it as one file',
  );
});

test('older forms of a configuration field do not survive next to the new one', () => {
  const before = { rope_parameters: { rope_theta: 1 }, dtype: 'float16', eos_token_id: 7 };
  const json = writeDecoderConfig(base, 'float32', before);
  expect(json).not.toHaveProperty('rope_parameters');
  expect(json).not.toHaveProperty('dtype');
  expect(json).toMatchObject({ eos_token_id: 7, torch_dtype: 'float32' });
});

test.each<[object, string]>([
  [{ model_type: 'mixtral' }, 'model_type is "mixtral"; supported are llama, qwen2, qwen3'],
  [{}, 'model_type is undefined'],
  [{ model_type: 'llama', hidden_size: '32' }, 'hidden_size: '],
  [{ model_type: 'llama', hidden_act: 'gelu' }, "hidden_act is 'gelu'"],
  [{ model_type: 'llama', quantization_config: { bits: 4 } }, 'quantised'],
  [{ model_type: 'qwen2', use_sliding_window: true }, 'sliding window'],
  [{ model_type: 'qwen3', layer_types: ['full_attention', 'sliding_attention'] }, 'sliding window'],
  [{ model_type: 'llama', partial_rotary_factor: 0.5 }, 'partial_rotary_factor'],
  [
    { model_type: 'llama', rope_scaling: { type: 'longrope' } },
    "rope type 'longrope' is not implemented",
  ],
  [{ model_type: 'llama', rope_scaling: { type: 'linear' } }, "rope type 'linear' needs factor"],
])('a configuration with %j is refused, not ignored', (json, message) => {
  expect(() => read(json)).toThrow(/^c\.json: /);
  expect(() => read(json)).toThrow(message);
});

test('a sliding window is ignored if all layers have full attention', () => {
  const layers = { use_sliding_window: true, layer_types: ['full_attention', 'full_attention'] };
  expect(read({ model_type: 'qwen2', ...layers }).layers).toBe(2);
});
