/** The folders that servers load: whole, of the right weights, and no more of them than are needed. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { digestAt } from '../../../model/checkpoints/digest.ts';
import type { Checkpoint } from '../../../model/engine.ts';
import { readAdapter } from '../../../model/hf/adapterFiles.ts';
import { loadPolicy } from '../../../model/hf/loadPolicy.ts';
import { initialAdapter, mergedWeights } from '../../../model/hf/lora.ts';
import { saveAdapterFile } from '../../../model/hf/publishedAdapter.ts';
import { inMemory } from '../../../model/hf/tensorSource.ts';
import { writeFolder } from '../../../model/hf/writeFolder.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import { labelOf } from '../../../model/remote/publish.ts';
import { type ServedFolders, servedFolders } from '../../../model/remote/servedFolders.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { strongWeights, TINY } from '../rollout/tinyPolicy.ts';

let folder: ReturnType<typeof temporaryFolder>;
let folders: ServedFolders;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  await folders.close();
  folder.remove();
});

const share = () => join(folder.path, 'share');

async function policyFile(version: number): Promise<Checkpoint> {
  const uri = join(folder.path, `${version}.safetensors`);
  await savePolicy(uri, { config: TINY, tensors: strongWeights(TINY, version + 1) });
  return { version, uri, digest: await digestAt(uri) };
}

async function firstFolder(): Promise<string> {
  const path = join(folder.path, 'first');
  const tensors = strongWeights(TINY, 1);
  await writeFolder(path, TINY, inMemory(tensors), { dtype: 'F32' });
  writeFileSync(join(path, 'tokenizer.json'), '{"its": "tokenizer"}');
  return path;
}

describe('a folder of all weights', () => {
  it('holds the numbers of the policy, with configuration and tokenizer of the first one', async () => {
    folders = servedFolders({ as: 'full', share: share(), like: await firstFolder() });
    const weights = await policyFile(3);
    const path = await folders.of(weights);
    expect(path).toBe(join(share(), labelOf(weights)));
    const { tensors } = await loadPolicy(path!);
    for (const [name, { data }] of strongWeights(TINY, 4))
      expect([...tensors.get(name)!.data]).toEqual([...data]);
    expect(readdirSync(path!).sort()).toEqual([
      'config.json',
      'millrace.json',
      'model.safetensors',
      'tokenizer.json',
    ]);
    expect(readFileSync(join(path!, 'tokenizer.json'), 'utf8')).toBe('{"its": "tokenizer"}');
  });

  it('is reused as it is, and written again if something in it changed', async () => {
    folders = servedFolders({ as: 'full', share: share() });
    const weights = await policyFile(1);
    const path = (await folders.of(weights))!;
    const file = join(path, 'model.safetensors');
    const whole = readFileSync(file);
    writeFileSync(join(path, 'seen'), '');
    await folders.of(weights);
    expect(readdirSync(path)).toContain('seen');
    writeFileSync(file, whole.subarray(0, whole.length - 4));
    await folders.of(weights);
    expect(readFileSync(file).equals(whole)).toBe(true);
  });

  it('is not written if the weights have another digest, and nothing is left', async () => {
    folders = servedFolders({ as: 'full', share: share() });
    const weights = { ...(await policyFile(1)), digest: 'f'.repeat(64) };
    await expect(folders.of(weights)).rejects.toMatchObject({ code: 'DIGEST' });
    const missing = { version: 2, uri: join(folder.path, 'nothing'), digest: null };
    await expect(folders.of(missing)).rejects.toThrow(/nothing/);
    expect(readdirSync(share())).toEqual([]);
  });

  it('replaces what a killed process left half written', async () => {
    folders = servedFolders({ as: 'full', share: share() });
    const weights = await policyFile(1);
    const place = join(share(), labelOf(weights));
    // No process has this number: the largest of Linux, which it does not give out.
    for (const left of [place, `${place}.4194304.tmp`]) {
      mkdirSync(left, { recursive: true });
      writeFileSync(join(left, 'config.json'), '{');
    }
    await loadPolicy((await folders.of(weights))!);
    expect(readdirSync(share())).toEqual([labelOf(weights)]);
  });

  it('is removed when three newer ones exist, and other folders stay', async () => {
    folders = servedFolders({ as: 'full', share: share(), keep: 3 });
    mkdirSync(join(share(), 'mine'), { recursive: true });
    const all: Checkpoint[] = [];
    for (const version of [9, 10, 11, 12]) all.push(await policyFile(version));
    for (const weights of all) await folders.of(weights);
    expect(readdirSync(share()).sort()).toEqual(['mine', ...all.slice(1).map(labelOf)].sort());
  });

  it('has the path that the servers see', async () => {
    folders = servedFolders({ as: 'full', share: share(), seenAs: '/mnt/weights/' });
    const weights = await policyFile(1);
    expect(await folders.of(weights)).toBe(`/mnt/weights/${labelOf(weights)}`);
  });
});

describe('an adapter', () => {
  async function adapterFile(version: number): Promise<Checkpoint> {
    const base = await firstFolder();
    const adapter = initialAdapter(TINY, { rank: 2, alpha: 4, targets: ['q_proj'], base }, 1);
    for (const { b } of adapter.modules.values()) b.data.fill(0.25);
    const uri = join(folder.path, `adapter-${version}.safetensors`);
    await saveAdapterFile(uri, adapter);
    return { version, uri, digest: await digestAt(uri) };
  }

  it('is a folder in PEFT’s layout that names the base model', async () => {
    folders = servedFolders({ as: 'adapter', share: share(), base: 'org/base' });
    const path = (await folders.of(await adapterFile(1)))!;
    const adapter = await readAdapter(path);
    expect([adapter.base, adapter.rank, adapter.alpha]).toEqual(['org/base', 2, 4]);
    expect(readdirSync(path).sort()).toEqual([
      'adapter_config.json',
      'adapter_model.safetensors',
      'millrace.json',
    ]);
  });

  it('is absent for the first version, the base model, and an error for a later whole policy', async () => {
    folders = servedFolders({ as: 'adapter', share: share() });
    expect(await folders.of(await policyFile(0))).toBeNull();
    await expect(folders.of(await policyFile(2))).rejects.toMatchObject({
      code: 'WEIGHTS_REFUSED',
      message: expect.stringContaining('whole policy'),
    });
  });

  it('is merged if whole policies are published', async () => {
    folders = servedFolders({ as: 'full', share: share() });
    const weights = await adapterFile(1);
    const { tensors } = await loadPolicy((await folders.of(weights))!);
    const name = 'model.layers.0.self_attn.q_proj.weight';
    const before = strongWeights(TINY, 1).get(name)!;
    const adapter = initialAdapter(TINY, { rank: 2, alpha: 4, targets: ['q_proj'] }, 1);
    const factors = adapter.modules.get(name.replace('.weight', ''))!;
    factors.b.data.fill(0.25);
    expect([...tensors.get(name)!.data]).toEqual([...mergedWeights(before, factors).data]);
  });
});
