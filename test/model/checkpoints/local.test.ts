/** Local checkpoints of a run, and those that a service keeps, as the store of the run sees them. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { CheckpointStore } from '../../../model/checkpoints/checkpointStore.ts';
import { checkpointsIn } from '../../../model/checkpoints/checkpointsIn.ts';
import { digestAt } from '../../../model/checkpoints/digest.ts';
import { localFiles } from '../../../model/checkpoints/local.ts';
import { initialise } from '../../../model/config.ts';
import { writeAdapter } from '../../../model/hf/adapterFiles.ts';
import { initialAdapter } from '../../../model/hf/lora.ts';
import { inMemory } from '../../../model/hf/tensorSource.ts';
import { type SavedFolder, writeFolder } from '../../../model/hf/writeFolder.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { smallest as config } from '../smallest.ts';

const temporary = temporaryFolder();
const at = (name: string) => join(temporary.path, name);
let written: SavedFolder;
beforeAll(async () => {
  written = await writeFolder(at('hf'), config, inMemory(initialise(config, 1)), {
    dtype: 'F32',
    shardBytesMax: 4000,
  });
});
afterAll(() => temporary.remove());

let count = 0;
let run: string;
let store: CheckpointStore;
beforeEach(() => {
  run = at(`run-${count++}`);
  mkdirSync(run);
  store = checkpointsIn(run);
});

const flip = (path: string): void => {
  const bytes = readFileSync(path);
  bytes[bytes.length - 3]! ^= 1;
  writeFileSync(path, bytes);
};

test('a Hugging Face folder is used in place, by the digest of its files', async () => {
  expect(written.files.filter((file) => file.endsWith('.safetensors')).length).toBeGreaterThan(1);
  const { weights, state, bytes } = await store.adopt(at('hf'));
  expect([weights.digest, state]).toEqual([written.sha256, null]);
  expect(bytes).toBeGreaterThan(written.bytes);
  const recorded = store.record(weights);
  expect(recorded).toEqual(weights);
  expect(store.resolve(recorded)).toEqual({ version: 0, uri: at('hf'), digest: written.sha256 });
  expect(await store.condition(recorded)).toEqual({ kind: 'whole' });
  await store.share(recorded, at('fork'));
  await store.remove(recorded);
  expect(existsSync(at('fork'))).toBe(false);
  expect(readdirSync(at('hf'))).toContain('config.json');
});

test('a trainer begins with a Hugging Face folder, and one that was changed is refused', async () => {
  const options = { dtype: 'F32', shardBytesMax: 4000 } as const;
  await writeFolder(at('begun'), config, inMemory(initialise(config, 2)), options);
  const first = await store.adopt(at('begun'));
  const trainer = await EmbeddedTrainer.create({ policy: at('hf') });
  await trainer.restore(first, 'train');
  const { weights } = await trainer.save(store.target(1));
  expect(store.record(weights).uri).toBe('weights/000001.safetensors');
  const shard = readdirSync(at('begun')).find((name) => name.endsWith('.safetensors'));
  flip(join(at('begun'), shard ?? ''));
  const code = { code: 'DIGEST', context: { version: 0 } };
  await expect(trainer.restore(first, 'train')).rejects.toMatchObject(code);
  expect(await store.condition(first.weights)).toMatchObject({
    kind: 'changed',
    why: expect.stringMatching(/^has digest [0-9a-f]{12}…, but its manifest says [0-9a-f]{12}…$/),
  });
  await trainer.close();
});

test('an adapter folder keeps the digest that it was written with', async () => {
  const adapter = initialAdapter(config, { rank: 2, alpha: 4, targets: ['q_proj'] }, 1);
  const { sha256 } = await writeAdapter(at('adapter'), adapter);
  expect(await digestAt(at('adapter'))).toBe(sha256);
});

test('a checkpoint of a moved run is found, and distinguished from one that is changed or gone', async () => {
  writeFileSync(at('base'), 'some weights');
  const { weights } = await store.adopt(at('base'));
  const recorded = store.record(weights);
  expect(recorded.uri).toBe('weights/000000.safetensors');
  expect(statSync(weights.uri).mode & 0o777).toBe(0o600); // its owner's alone, whatever the base was
  const moved = `${run}-moved`;
  renameSync(run, moved);
  const there = checkpointsIn(moved);
  expect(await there.condition(recorded)).toEqual({ kind: 'whole' });
  expect(await there.exists(recorded)).toBe(true);
  expect(await store.condition(recorded)).toEqual({ kind: 'missing' });
  flip(there.resolve(recorded).uri);
  expect((await there.condition(recorded)).kind).toBe('changed');
  expect(await there.condition({ ...recorded, digest: null })).toEqual({ kind: 'whole' });
  await there.remove(recorded);
  await there.remove(recorded);
  expect(await there.exists(recorded)).toBe(false);
});

test('a fork has its own files, which stay when those of the original run go', async () => {
  writeFileSync(at('base'), 'some weights');
  const recorded = store.record((await store.adopt(at('base'))).weights);
  await store.share(recorded, at('forked'));
  await store.remove(recorded);
  expect(await checkpointsIn(at('forked')).condition(recorded)).toEqual({ kind: 'whole' });
  rmSync(at('forked'), { recursive: true });
});

test('no checkpoint outside the run is ever deleted', async () => {
  writeFileSync(at('precious'), 'weights');
  for (const uri of [at('precious'), '../precious']) {
    await store.remove({ version: 0, uri, digest: null });
    await store.share({ version: 0, uri, digest: null }, at('nowhere'));
  }
  expect(statSync(at('precious')).size).toBe(7);
  expect(existsSync(at('nowhere'))).toBe(false);
});

test('a checkpoint inside a service is left to the service', async () => {
  const kept = { version: 3, uri: 'tinker://model/weights/v3', digest: null };
  expect([store.record(kept), store.resolve(kept)]).toEqual([kept, kept]);
  expect([await store.exists(kept), await store.condition(kept)]).toEqual([
    true,
    { kind: 'unseen' },
  ]);
  await store.remove(kept);
  await store.share(kept, at('fork'));
  expect(readdirSync(run)).toEqual([]);
});

test('files of versions have names that sort by version', () => {
  const files = [9, 10, 123_456].map((version) => localFiles({ version, folder: '/run' }).weights);
  expect(files).toEqual([...files].sort());
});
