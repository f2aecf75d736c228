/** Hugging Face folders and one-file policies: written, read back, refused when damaged. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { type DecoderConfig, initialise, parameterShapes } from '../../../model/config.ts';
import { loadPolicy, openPolicy } from '../../../model/hf/loadPolicy.ts';
import { inMemory } from '../../../model/hf/tensorSource.ts';
import { writeFolder } from '../../../model/hf/writeFolder.ts';
import { writeTensorFile } from '../../../model/hf/writeTensorFile.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import { temporaryFolder } from '../../support/folder.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const tokenizer = fileURLToPath(new URL('fixtures/tokenizer', import.meta.url));

const config: DecoderConfig = {
  architecture: 'qwen3',
  vocabSize: 20,
  hiddenSize: 8,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headDim: 6,
  intermediateSize: 12,
  ropeTheta: 10000,
  maxPositions: 128,
  rmsEps: 1e-6,
  attentionBias: false,
  qkNorm: true,
  tiedEmbeddings: false,
};
const tensors = initialise(config, 3);
const F32 = { dtype: 'F32' } as const;
/** About three shards. */
const SHARDED = { dtype: 'F32', shardBytesMax: 1500 } as const;

let count = 0;
let path: string;
beforeEach(() => {
  path = join(folder.path, String(count++));
});
const shards = () =>
  readdirSync(path)
    .filter((name) => name.endsWith('.safetensors'))
    .sort();

test('a sharded folder is read back whole or by tensor, and has its digest', async () => {
  const saved = await writeFolder(path, config, inMemory(tensors), SHARDED);
  expect(shards().length).toBeGreaterThan(2);
  expect(shards()[0]).toMatch(/^model-00001-of-0000\d\.safetensors$/);
  expect([...saved.files].sort()).toEqual(readdirSync(path).sort());
  expect(await loadPolicy(path, saved.sha256)).toEqual({ config, tensors });
  await expect(loadPolicy(path, 'other')).rejects.toThrow(`digest ${saved.sha256}, not other`);

  const policy = await openPolicy(path);
  expect([...policy.tensors.keys()]).toEqual([...parameterShapes(config).keys()]);
  expect(await policy.read('lm_head.weight')).toEqual(tensors.get('lm_head.weight'));
  await policy.close();
});

test('the digest of a folder covers every byte that decides what the network computes', async () => {
  const { sha256 } = await writeFolder(path, config, inMemory(tensors), F32);
  const json = readFileSync(join(path, 'config.json'), 'utf8');
  writeFileSync(
    join(path, 'config.json'),
    json.replace('"rope_theta": 10000', '"rope_theta": 10001'),
  );
  await expect(loadPolicy(path, sha256)).rejects.toThrow(`not ${sha256}`);
  writeFileSync(join(path, 'config.json'), json);
  await loadPolicy(path, sha256);
  const weights = readFileSync(join(path, 'model.safetensors'));
  weights[weights.length - 1]! ^= 1;
  writeFileSync(join(path, 'model.safetensors'), weights);
  await expect(loadPolicy(path, sha256)).rejects.toMatchObject({ code: 'DIGEST' });
});

test('a policy file of this package is read like a folder', async () => {
  const { sha256 } = await savePolicy(path, { config, tensors });
  expect(await loadPolicy(path, sha256)).toEqual({ config, tensors });
  const policy = await openPolicy(path);
  expect(policy.kind).toBe('file');
  await policy.close();
  await writeTensorFile(
    path,
    [{ name: 'x', shape: [0], dtype: 'F32' }],
    () => ({ shape: [0], data: new Float32Array(0) }),
    {},
  );
  await expect(loadPolicy(path)).rejects.toThrow('no decoder configuration');
});

test('a 16-bit folder is half the size and widens to the nearest numbers', async () => {
  const { bytes } = await writeFolder(path, config, inMemory(tensors), { dtype: 'BF16' });
  const whole = [...tensors.values()].reduce((sum, { data }) => sum + data.byteLength, 0);
  expect(bytes).toBeLessThan(0.9 * whole);
  const back = await loadPolicy(path);
  for (const [name, { data }] of back.tensors)
    for (const [i, value] of data.entries())
      expect(Math.abs(value - tensors.get(name)!.data[i]!)).toBeLessThanOrEqual(
        2 ** -8 * Math.abs(value),
      );
  const again = `${path}-again`;
  const source = await openPolicy(path);
  await writeFolder(again, source.config, source, { dtype: 'keep', like: path });
  await source.close();
  for (const name of readdirSync(path))
    expect(readFileSync(join(again, name))).toEqual(readFileSync(join(path, name)));
});

test('fields that say nothing about the network are kept', async () => {
  await writeFolder(path, config, inMemory(tensors), { ...F32, tokenizer });
  const json = JSON.parse(readFileSync(join(path, 'config.json'), 'utf8'));
  writeFileSync(
    join(path, 'config.json'),
    JSON.stringify({ ...json, eos_token_id: [4, 5], note: 'kept' }),
  );
  writeFileSync(join(path, 'generation_config.json'), '{"temperature":0.6}');
  mkdirSync(join(path, 'additional_chat_templates'));
  writeFileSync(join(path, 'additional_chat_templates', 'rag.jinja'), 'x');
  writeFileSync(join(path, 'README.md'), 'not carried');
  const copy = `${path}-copy`;
  await writeFolder(copy, config, inMemory(tensors), { ...F32, like: path });
  const copied = JSON.parse(readFileSync(join(copy, 'config.json'), 'utf8'));
  expect(copied).toMatchObject({ eos_token_id: [4, 5], note: 'kept', torch_dtype: 'float32' });
  for (const name of [
    'tokenizer.json',
    'tokenizer_config.json',
    'generation_config.json',
    'additional_chat_templates/rag.jinja',
  ])
    expect(readFileSync(join(copy, name))).toEqual(readFileSync(join(path, name)));
  expect(existsSync(join(copy, 'README.md'))).toBe(false);
});

test('an existing folder is not overwritten, and a failure leaves nothing', async () => {
  await writeFolder(path, config, inMemory(tensors), F32);
  const before = readFileSync(join(path, 'model.safetensors'));
  await expect(writeFolder(path, config, inMemory(tensors), F32)).rejects.toThrow('already exists');
  expect(readFileSync(join(path, 'model.safetensors'))).toEqual(before);

  const broken = { ...inMemory(tensors), read: () => Promise.reject(new Error('disk full')) };
  await expect(writeFolder(`${path}-b`, config, broken, F32)).rejects.toThrow('disk full');
  expect(readdirSync(folder.path).filter((name) => name.includes('-b'))).toEqual([]);
});

test('tensors that contradict the configuration are refused with both shapes', async () => {
  const wider = { ...config, intermediateSize: 16 };
  const write = writeFolder(path, wider, inMemory(tensors), F32);
  await expect(write).rejects.toMatchObject({
    code: 'CHECKPOINT',
    context: { tensor: 'model.layers.0.mlp.gate_proj.weight', expected: [16, 8], found: [12, 8] },
  });
  await writeFolder(path, config, inMemory(tensors), F32);
  const json = readFileSync(join(path, 'config.json'), 'utf8');
  const edit = (from: string, to: string) =>
    writeFileSync(join(path, 'config.json'), json.replace(from, to));
  edit('"vocab_size": 20', '"vocab_size": 21');
  await expect(loadPolicy(path)).rejects.toThrow(
    "'model.embed_tokens.weight' should be [21, 8], not [20, 8] (and 1 more)",
  );
  edit('"num_hidden_layers": 2', '"num_hidden_layers": 3');
  await expect(loadPolicy(path)).rejects.toThrow(
    "'model.layers.2.input_layernorm.weight' should be [8], not [missing]",
  );
  edit('"num_hidden_layers": 2', '"num_hidden_layers": 1');
  await expect(loadPolicy(path)).rejects.toThrow(
    "'model.layers.1.input_layernorm.weight' [8] is not a parameter",
  );
  edit('"tie_word_embeddings": false', '"tie_word_embeddings": true');
  expect((await loadPolicy(path)).tensors.has('lm_head.weight')).toBe(false);
});

test.each<[string, () => void, RegExp]>([
  [
    'a shard that is missing',
    () => renameSync(join(path, shards()[1]!), join(path, 'x')),
    /tensor '.*' should be in model-00002-.* not in the folder/,
  ],
  [
    'a shard in another’s place',
    () => copyFileSync(join(path, shards()[0]!), join(path, shards()[1]!)),
    /tensor 'model.embed_tokens.weight' is in model-00001.* and in model-00002/,
  ],
  [
    'a shard cut short',
    () =>
      writeFileSync(
        join(path, shards()[1]!),
        readFileSync(join(path, shards()[1]!)).subarray(0, -1),
      ),
    /model-00002.* is cut short: tensor '/,
  ],
  [
    'an index without places',
    () => writeFileSync(join(path, 'model.safetensors.index.json'), '{}'),
    /has no weight_map/,
  ],
  [
    'an index that leaves the folder',
    () =>
      writeFileSync(
        join(path, 'model.safetensors.index.json'),
        '{"weight_map":{"x":"../0/model.safetensors"}}',
      ),
    /'x' should be in \.\./,
  ],
  [
    'an index that is cut',
    () => writeFileSync(join(path, 'model.safetensors.index.json'), '{"weight'),
    /index.json is not JSON/,
  ],
  [
    'no configuration',
    () => renameSync(join(path, 'config.json'), join(path, 'x')),
    /config.json cannot be read \(ENOENT\)/,
  ],
])('a model folder with %s is refused', async (_, damage, message) => {
  await writeFolder(path, config, inMemory(tensors), SHARDED);
  damage();
  await expect(loadPolicy(path)).rejects.toThrow(message);
  await expect(openPolicy(path)).rejects.toMatchObject({ code: 'CHECKPOINT' });
});

test('a configuration that describes no network is refused by its file', async () => {
  await writeFolder(path, config, inMemory(tensors), F32);
  const json = readFileSync(join(path, 'config.json'), 'utf8');
  writeFileSync(join(path, 'config.json'), json.replace('"head_dim": 6', '"head_dim": 5'));
  await expect(loadPolicy(path)).rejects.toMatchObject({
    code: 'MODEL_CONFIG',
    message: expect.stringContaining(`${path}: its configuration does not describe a network`),
  });
});

test('an index and shards of different saves are refused', async () => {
  await writeFolder(path, config, inMemory(tensors), SHARDED);
  const index = join(path, 'model.safetensors.index.json');
  const { weight_map: map } = JSON.parse(readFileSync(index, 'utf8'));
  const [name, file] = Object.entries(map)[0] as [string, string];
  const other = shards().find((shard) => shard !== file);
  writeFileSync(index, JSON.stringify({ weight_map: { ...map, [name]: other } }));
  await expect(openPolicy(path)).rejects.toThrow(
    `has no tensor '${name}', which the index lists there`,
  );
  const { [name]: _, ...rest } = map;
  writeFileSync(index, JSON.stringify({ weight_map: rest }));
  await expect(openPolicy(path)).rejects.toThrow(
    /that is not in the index|should be .* not \[missing\]/,
  );
});

test('a folder of pickled weights is refused with a remedy', async () => {
  mkdirSync(path);
  await writeFolder(`${path}/x`, config, inMemory(tensors), F32);
  copyFileSync(join(path, 'x/config.json'), join(path, 'config.json'));
  await expect(openPolicy(path)).rejects.toThrow('is it a checkpoint folder?');
  writeFileSync(join(path, 'pytorch_model.bin'), '');
  await expect(openPolicy(path)).rejects.toThrow(
    'pytorch_model.bin is not supported: save the model as safetensors',
  );
});
