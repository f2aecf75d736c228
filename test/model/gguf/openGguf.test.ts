/** GGUF files as policies: parameters, configuration, and what is refused. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { openGguf } from '../../../model/gguf/openGguf.ts';
import { rotation } from '../../../model/rope.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { type GgufValue, singles } from '../../support/ggufBytes.ts';
import { bytesOf, type Family, type Tiny, tiny } from './tinyGguf.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

let files = 0;
function saved(made: Pick<Tiny, 'metadata' | 'tensors'>): string {
  const path = join(folder.path, `${files++}.gguf`);
  writeFileSync(path, bytesOf(made));
  return path;
}

async function refusal(made: Pick<Tiny, 'metadata' | 'tensors'>): Promise<string> {
  const error = await openGguf(saved(made)).then(
    () => ({ message: 'not refused' }),
    (error) => error,
  );
  return error.message;
}

describe('a policy in a GGUF file', () => {
  test.each<Family>(['llama', 'qwen2', 'qwen3'])('has the parameters of its %s', async (family) => {
    const { config, policy, ...file } = tiny(family);
    const opened = await openGguf(saved(file));
    expect(opened.config).toEqual(config);
    for (const [name, tensor] of policy) expect(await opened.read(name)).toEqual(tensor);
    expect(opened.tensors.size).toBe(policy.size);
    await opened.close();
  });

  test('keeps the numbers of quantised tensors in float32, those of others in their own format', async () => {
    const { metadata, tensors } = tiny('llama');
    const quantised = tensors.map((tensor) => {
      const count = tensor.sizes.reduce((product, size) => product * size, 1);
      if (tensor.name === 'token_embd.weight')
        return { ...tensor, type: 8, data: new Uint8Array((count / 32) * 34) };
      return tensor.name === 'blk.0.ffn_up.weight'
        ? { ...tensor, type: 30, data: new Uint8Array(count * 2) }
        : tensor;
    });
    const opened = await openGguf(saved({ metadata, tensors: quantised }));
    const dtype = (name: string) => opened.tensors.get(name)?.dtype;
    expect(dtype('model.embed_tokens.weight')).toBe('F32');
    expect(dtype('model.layers.0.mlp.up_proj.weight')).toBe('BF16');
    await opened.close();
  });

  test('has the scaling of Llama 3 that its factors mean', async () => {
    const { config, metadata, tensors } = tiny('llama');
    const plain = { ...config, ropeTheta: 500_000 };
    const scaled = {
      ...plain,
      ropeScaling: {
        kind: 'llama3' as const,
        factor: 32,
        lowFrequencyFactor: 1,
        highFrequencyFactor: 4,
        originalMaxPositions: 8192,
      },
    };
    const after = rotation(scaled).frequencies;
    const factors = rotation(plain).frequencies.map((before, i) => before / after[i]!);
    const given = (all: readonly number[]) => ({
      metadata: { ...metadata, 'llama.rope.freq_base': { f32: 500_000 } },
      tensors: [...tensors, singles('rope_freqs.weight', [all.length], Float32Array.from(all))],
    });
    const opened = await openGguf(saved(given(factors)));
    expect(opened.config).toEqual(scaled);
    expect(opened.tensors.has('rope_freqs.weight')).toBe(false);
    await opened.close();
    const other = factors.map((factor) => factor ** 0.9);
    expect(await refusal(given(other))).toMatch(/rope_freqs.weight is not that of a Llama 3/);
  });

  test.each<[string, Record<string, GgufValue>, RegExp]>([
    ['another architecture', { 'general.architecture': 'gemma2' }, /architecture is gemma2; supp/],
    ['one of several parts', { 'split.count': { u32: 3 } }, /llama-gguf-split --merge/],
    ['a sliding window', { 'llama.attention.sliding_window': { u32: 64 } }, /sliding window/],
    ['rotation over part of a head', { 'llama.rope.dimension_count': { u32: 4 } }, /4 of the 8/],
    ['another scaling', { 'llama.rope.scaling.type': 'yarn' }, /scaled \(yarn\)/],
    ['no layers', { 'llama.block_count': { u32: 0 } }, /block_count must be set and above 0/],
    ['a list as a size', { 'llama.embedding_length': ['32'] }, /must be one number/],
    ['endless layers', { 'llama.block_count': { u32: 4e9 } }, /layers \(4000000000\) must be/],
    ['other sizes', { 'llama.feed_forward_length': { u32: 65 } }, /gate_proj.weight' should be/],
  ])('is refused with %s', async (_, changed, message) => {
    const { metadata, tensors } = tiny('llama');
    expect(await refusal({ metadata: { ...metadata, ...changed }, tensors })).toMatch(message);
  });

  test('is refused if a tensor is missing, or is not one of its parameters', async () => {
    const { metadata, tensors } = tiny('llama');
    const normless = tensors.filter(({ name }) => name !== 'output_norm.weight');
    expect(await refusal({ metadata, tensors: normless })).toMatch(/model.norm.weight' should be/);
    const [first, ...rest] = tensors;
    expect(await refusal({ metadata, tensors: rest })).toMatch(/no tensor 'token_embd.weight'/);
    const experts = { ...first!, name: 'blk.0.ffn_gate_exps.weight' };
    expect(await refusal({ metadata, tensors: [...tensors, experts] })).toMatch(
      /'blk.0.ffn_gate_exps.weight' is not a parameter of a llama/,
    );
    const named = { ...first!, name: 'blk.0.constructor.weight' };
    expect(await refusal({ metadata, tensors: [...tensors, named] })).toMatch(/not a parameter/);
  });
});
