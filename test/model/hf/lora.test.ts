/** LoRA adapters: files in PEFT's layout, and merging against the sum written out. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { type DecoderConfig, initialise, type Tensor } from '../../../model/config.ts';
import { readAdapter, writeAdapter } from '../../../model/hf/adapterFiles.ts';
import {
  checkAdapter,
  initialAdapter,
  type LoraAdapter,
  loraScale,
  merged,
  mergedWeights,
} from '../../../model/hf/lora.ts';
import { inMemory } from '../../../model/hf/tensorSource.ts';
import { writeTensorFile } from '../../../model/hf/writeTensorFile.ts';
import { temporaryFolder } from '../../support/folder.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

const config: DecoderConfig = {
  architecture: 'llama',
  vocabSize: 20,
  hiddenSize: 8,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  intermediateSize: 12,
  ropeTheta: 10000,
  rmsEps: 1e-6,
  attentionBias: false,
  tiedEmbeddings: true,
};
const V0 = 'model.layers.0.self_attn.v_proj';

function random(shape: readonly [number, number], name: string): Tensor {
  const stream = draws('lora test', name);
  const data = Float32Array.from(
    { length: shape[0] * shape[1] },
    (_, i) => stream.uniform(i) - 0.5,
  );
  return { shape, data };
}

/** An adapter that changes something, with one module of another rank and scale. */
function adapter(): LoraAdapter {
  const first = initialAdapter(
    config,
    { rank: 3, alpha: 6, targets: ['q_proj', 'v_proj', 'down_proj'], base: 'b' },
    1,
  );
  const modules = new Map(
    [...first.modules].map(([name, { a, b, scale }]) => [
      name,
      { a, b: random(b.shape as [number, number], name), scale },
    ]),
  );
  modules.set(V0, {
    a: random([2, 8], 'a'),
    b: random([4, 2], 'b'),
    scale: loraScale(2, 10, false),
  });
  return { ...first, modules };
}

let path: string;
let count = 0;
beforeEach(() => {
  path = join(folder.path, String(count++));
});

test('an adapter is read back, with its own rank and scale for each module', async () => {
  const { sha256, bytes } = await writeAdapter(path, adapter());
  expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(readFileSync(join(path, 'adapter_model.safetensors')).length).toBe(bytes);
  const back = await readAdapter(path);
  expect(back).toEqual({
    ...adapter(),
    modules: new Map([...back.modules.keys()].map((name) => [name, adapter().modules.get(name)])),
  });
  expect(back.modules.size).toBe(6);
  const json = JSON.parse(readFileSync(join(path, 'adapter_config.json'), 'utf8'));
  expect(json).toMatchObject({
    r: 3,
    lora_alpha: 6,
    peft_type: 'LORA',
    target_modules: ['q_proj', 'v_proj', 'down_proj'],
  });
  expect(json.rank_pattern).toEqual({ 'model\\.layers\\.0\\.self_attn\\.v_proj': 2 });
  await expect(writeAdapter(path, adapter())).rejects.toThrow('already exists');
});

test('merging an adapter adds its scaled product, and leaves the base unchanged', async () => {
  const base = initialise(config, 1);
  const before = base.get(`${V0}.weight`)!.data.slice();
  const { a, b, scale } = adapter().modules.get(V0)!;
  const source = merged(inMemory(base), adapter());
  const { data, shape } = await source.read(`${V0}.weight`);
  expect(shape).toEqual([4, 8]);
  for (let o = 0; o < 4; o++)
    for (let i = 0; i < 8; i++) {
      let sum = 0;
      for (let r = 0; r < 2; r++) sum += b.data[o * 2 + r]! * a.data[r * 8 + i]!;
      expect(data[o * 8 + i]).toBeCloseTo(before[o * 8 + i]! + 5 * sum, 6);
    }
  expect(scale).toBe(5);
  expect(base.get(`${V0}.weight`)!.data).toEqual(before);
  const untouched = 'model.layers.0.self_attn.k_proj.weight';
  expect(await source.read(untouched)).toBe(base.get(untouched));
});

test('a new adapter changes nothing, and depends on its seed alone', () => {
  const options = {
    rank: 2,
    alpha: 4,
    stabilised: true,
    targets: ['o_proj', 'gate_proj'],
  } as const;
  const made = initialAdapter(config, options, 5);
  expect(made).toEqual(initialAdapter(config, options, 5));
  expect(made).not.toEqual(initialAdapter(config, options, 6));
  expect([...made.modules.keys()]).toEqual(
    [0, 1].flatMap((layer) => [
      `model.layers.${layer}.self_attn.o_proj`,
      `model.layers.${layer}.mlp.gate_proj`,
    ]),
  );
  const factors = made.modules.get('model.layers.0.mlp.gate_proj')!;
  expect(factors.scale).toBeCloseTo(4 / Math.SQRT2, 12);
  const bound = 1 / Math.sqrt(8);
  expect(factors.a.data.every((value) => Math.abs(value) <= bound)).toBe(true);
  expect(Math.max(...factors.a.data)).toBeGreaterThan(bound / 2);
  const weights = random([12, 8], 'w');
  expect(mergedWeights(weights, factors)).toEqual(weights);
});

test('a new adapter without targets changes every linear layer; one that would train nothing is refused', () => {
  expect(initialAdapter(config, { rank: 2, alpha: 4 }, 5).modules.size).toBe(7 * config.layers);
  const made = (odd: object) => () => initialAdapter(config, { rank: 2, alpha: 4, ...odd }, 5);
  expect(made({ targets: ['query'] })).toThrow(/targets has "query", which is not a layer/);
  expect(made({ targets: [] })).toThrow(/targets is empty/);
  expect(made({ rank: undefined })).toThrow(/rank is undefined/);
  expect(made({ alpha: 0 })).toThrow(/alpha is 0/);
  const nothing = { ...adapter(), modules: new Map() };
  expect(() => checkAdapter(nothing, config, 'f')).toThrow(/f: the adapter changes no module/);
});

test('an adapter of another model is refused with both shapes', () => {
  const other = { ...config, hiddenSize: 16 };
  expect(() => checkAdapter(adapter(), config, 'f')).not.toThrow();
  expect(() => checkAdapter(adapter(), other, 'f')).toThrow(
    "f: the adapter changes 'model.layers.0.self_attn.q_proj' of shape [8, 8], but the policy has [16, 16]",
  );
});

test.each<[object, string]>([
  [{ peft_type: 'IA3' }, 'peft_type is IA3'],
  [{ use_dora: true }, 'use_dora'],
  [{ bias: 'all' }, "bias is 'all'"],
  [{ modules_to_save: ['lm_head'] }, 'modules_to_save is lm_head'],
  [{ r: 0 }, 'r: '],
  [{ rank_pattern: { '(': 2 } }, 'rank_pattern.(: '],
])('an adapter configuration with %j is refused, not ignored', async (change, message) => {
  await writeAdapter(path, adapter());
  const file = join(path, 'adapter_config.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...change }));
  await expect(readAdapter(path)).rejects.toThrow(message);
});

test('adapter factors that do not belong together are refused by name', async () => {
  await writeAdapter(path, adapter());
  const name = (half: string) => `base_model.model.${V0}.lora_${half}.weight`;
  const write = (...tensors: [string, Tensor][]) =>
    writeTensorFile(
      join(path, 'adapter_model.safetensors'),
      tensors.map(([tensor, { shape }]) => ({ name: tensor, shape, dtype: 'F32' })),
      (tensor) => new Map(tensors).get(tensor)!,
      {},
    );
  await write([name('A'), random([2, 8], 'a')]);
  await expect(readAdapter(path)).rejects.toThrow(`'${V0}' has lora_A [2, 8] and lora_B nothing`);
  await write([name('A'), random([3, 8], 'a')], [name('B'), random([4, 3], 'b')]);
  await expect(readAdapter(path)).rejects.toThrow(
    `'${V0}' has rank 3 where adapter_config.json says 2`,
  );
  await write(['base_model.model.lm_head.weight', random([2, 8], 'a')]);
  await expect(readAdapter(path)).rejects.toThrow(
    "tensor 'base_model.model.lm_head.weight' does not belong to a LoRA adapter",
  );
});
