/** Low-rank adapters: trained alone, published merged or as they are, resumed bit for bit. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { type DecoderConfig, initialise } from '../../../model/config.ts';
import type { SavedCheckpoint, TrainSequence } from '../../../model/engine.ts';
import {
  loadAdapterFile,
  PublishedWeights,
  saveAdapterFile,
} from '../../../model/hf/publishedAdapter.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import type { AdapterOptions } from '../../../model/train/trainee.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { worstError } from '../vectors.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder.path, name);
afterAll(() => folder.remove());

const config: DecoderConfig = {
  architecture: 'llama',
  vocabSize: 40,
  hiddenSize: 24,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  intermediateSize: 32,
  ropeTheta: 10000,
  rmsEps: 1e-6,
  attentionBias: false,
  tiedEmbeddings: true,
};
const adapter = { rank: 4, alpha: 8, targets: ['q_proj', 'v_proj', 'down_proj'], seed: 3 } as const;
const modes = ['merged', 'adapter'] as const;

function batch(salt: number): TrainSequence[] {
  return [24, 9, 17].map((length, row) => ({
    tokens: Int32Array.from({ length }, (_, i) => (i * i + 5 * row + 3 * i + salt) % 40),
    mask: Uint8Array.from({ length }, (_, i) => (i > 0 ? 1 : 0)),
    advantages: new Float32Array(length),
    oldLogProbs: new Float32Array(length),
  }));
}

async function start(publish: AdapterOptions['publish'], threads = 1): Promise<EmbeddedTrainer> {
  await savePolicy(at('base.safetensors'), { config, tensors: initialise(config, 5) });
  const policy = at('base.safetensors');
  return EmbeddedTrainer.create({ policy, threads, adapter: { adapter, publish } });
}

const step = (trainer: EmbeddedTrainer, salt: number) =>
  trainer.step({ sequences: batch(salt), loss: { name: 'sft' }, lr: 0.02 });
const files = (name: string) => ({ version: 1, folder: at(name) });
const digestsOf = ({ weights, state }: SavedCheckpoint) => [weights.digest, state?.digest];

test.each(modes)('an adapter lowers the loss, and its policy stays as it is (%s)', async (mode) => {
  const trainer = await start(mode);
  const losses: number[] = [];
  for (let i = 0; i < 12; i++) losses.push((await step(trainer, 1)).loss);
  expect(losses.at(-1)!).toBeLessThan(0.98 * losses[0]!);
  const { sha256 } = await trainer.write(at(`${mode}.safetensors`));
  const base = initialise(config, 5);
  const { tensors } = await new PublishedWeights().load(at(`${mode}.safetensors`), sha256);
  const changed = [...tensors].filter(([name, { data }]) =>
    data.some((value, i) => value !== base.get(name)!.data[i]),
  );
  const names = changed.map(([name]) => name.split('.').at(-2));
  expect(new Set(names)).toEqual(new Set(['q_proj', 'v_proj', 'down_proj']));
  expect(changed.length).toBe(6);

  const merged = await EmbeddedTrainer.create({ policy: { config, tensors } });
  const sequences = batch(2).map(({ tokens }) => tokens);
  const [own, theirs] = [await trainer.score(sequences), await merged.score(sequences)];
  for (const [i, { logProbs }] of own.entries())
    expect(worstError(logProbs, [...theirs[i]!.logProbs])).toBeLessThan(1e-5);
  await Promise.all([trainer.close(), merged.close()]);
});

test('an adapter without targets adapts every linear layer, and has gradients', async () => {
  await savePolicy(at('base.safetensors'), { config, tensors: initialise(config, 5) });
  const whole = { rank: 2, alpha: 4, seed: 3 };
  const trainer = await EmbeddedTrainer.create({
    policy: at('base.safetensors'),
    adapter: { adapter: whole, publish: 'adapter' },
  });
  expect((await step(trainer, 1)).gradNorm).toBeGreaterThan(0);
  const path = at('whole.safetensors');
  await trainer.write(path);
  await trainer.close();
  const written = await loadAdapterFile(path);
  expect(written!.modules.size).toBe(7 * config.layers);
});

test.each<[object, RegExp]>([
  [
    { targets: ['query'] },
    /targets has "query", which is not a layer; the layers are q_proj, k_proj/,
  ],
  [{ targets: [] }, /targets is empty; leave it out for all of q_proj/],
  [{ rank: 0 }, /rank is 0/],
  [{ alpha: 0 }, /alpha is 0/],
  [{ alpha: undefined }, /alpha is undefined/],
  [{ modules: new Map() }, /the adapter to continue from: the adapter changes no module/],
])('an adapter that would train nothing is refused: %j', async (change, message) => {
  const policy = { config, tensors: initialise(config, 5) };
  const odd = { ...adapter, ...change } as typeof adapter;
  const made = EmbeddedTrainer.create({ policy, adapter: { adapter: odd, publish: 'merged' } });
  await expect(made).rejects.toThrow(message);
});

test.each(modes)('a resumed adapter goes on bit for bit, on two threads too (%s)', async (mode) => {
  const trainer = await start(mode);
  await step(trainer, 1);
  const saved = await trainer.save(files('saved'));
  await step(trainer, 2);
  const onward = await trainer.save(files('onward'));
  const other = await start(mode, 2);
  // a policy that another version was scored with in between leaves no trace
  await other.restore(onward, 'score');
  await other.restore(saved, 'train');
  await step(other, 2);
  expect(digestsOf(await other.save(files('again')))).toEqual(digestsOf(onward));
  await Promise.all([trainer.close(), other.close()]);
});

test('an adapter that does not name the digest of its policy is taken with a warning', async () => {
  const trainer = await start('adapter');
  await step(trainer, 1);
  const { weights } = await trainer.save(files('older'));
  await trainer.close();
  const { baseDigest, ...older } = (await loadAdapterFile(weights.uri))!;
  expect(baseDigest).toMatch(/^[0-9a-f]{64}$/);
  const { sha256 } = await saveAdapterFile(at('older.safetensors'), older);
  const warnings: string[] = [];
  const published = new PublishedWeights(undefined, (message) => warnings.push(message));
  const { tensors } = await published.load(at('older.safetensors'), sha256);
  expect(tensors.size).toBeGreaterThan(0);
  expect(warnings).toEqual([
    expect.stringMatching(
      /older\.safetensors is an adapter without a digest of its policy .*base\.safetensors/,
    ),
  ]);
  await published.load(weights.uri, weights.digest!);
  expect(warnings).toHaveLength(1);
});

test('an adapter is refused on a policy other than the one it was trained on', async () => {
  const trainer = await start('adapter');
  await step(trainer, 1);
  const saved = await trainer.save(files('on-base'));
  await trainer.close();
  const base = at('base.safetensors');
  const bytes = readFileSync(base);
  bytes[bytes.length - 2]! ^= 1;
  writeFileSync(base, bytes);
  const refused = { code: 'DIGEST', context: { file: base } };
  const { uri, digest } = saved.weights;
  await expect(new PublishedWeights().load(uri, digest!)).rejects.toMatchObject(refused);
  const again = await EmbeddedTrainer.create({
    policy: base,
    adapter: { adapter, publish: 'adapter' },
  });
  await expect(again.restore(saved, 'train')).rejects.toMatchObject({
    code: 'DIGEST',
    message: expect.stringMatching(/version 1: .*base\.safetensors has digest .*rewind/),
  });
  await again.close();
});

test('publishing only an adapter needs a policy that others can read', async () => {
  const policy = { config, tensors: initialise(config, 5) };
  const made = EmbeddedTrainer.create({ policy, adapter: { adapter, publish: 'adapter' } });
  await expect(made).rejects.toThrow('give `policy` as a path');
});
