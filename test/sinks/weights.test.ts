import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { SaveTarget } from '../../model/engine.ts';
import { type WeightsStore, weightsStore } from '../../sinks/weights/weights.ts';
import { avroCodec } from '../../streams/contracts/codec.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import type { Log } from '../../streams/log.ts';
import type { Topic } from '../../streams/topic.ts';
import { type Batch, topics } from '../../topics/index.ts';
import { readFixture } from '../support/contracts.ts';
import { fakeTrainer } from '../support/fakeTrainer.ts';
import { temporaryFolder } from '../support/folder.ts';
import { batch as batchRecord } from '../support/records.ts';
import { weights } from '../support/weights.ts';

let folder: ReturnType<typeof temporaryFolder>;
let log: Log;
let store: WeightsStore;
let base: string;

beforeEach(async () => {
  folder = temporaryFolder();
  log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
  store = weightsStore(folder.path, log);
  base = join(folder.path, 'base.safetensors');
  await writeFile(base, 'base weights');
});
afterEach(async () => {
  await log.close();
  folder.remove();
});

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const names = (): string[] => readdirSync(join(folder.path, 'weights')).sort();
const batch = (version: number, over: Partial<Batch> = {}): Batch =>
  batchRecord({ step: version + 1, round: 1, version, ...over });

describe('the weights store', () => {
  test('adopts the first policy as version 0, whole and with its digest', async () => {
    const first = await store.adopt(base);
    expect(first).toEqual({
      version: 0,
      parent: -1,
      step: 0,
      roundsDone: 0,
      consumed: null,
      parentDigest: null,
      controls: 0,
      state: '',
      stateDigest: null,
      bytes: 12,
      uri: 'weights/000000.safetensors',
      digest: digest('base weights'),
    });
    expect(names()).toEqual(['000000.safetensors']);
    expect(store.resolve(first)).toEqual({
      version: 0,
      uri: join(folder.path, first.uri),
      digest: first.digest,
    });
    expect(store.saved(first)).toEqual({ weights: store.resolve(first), state: null });
  });

  test('keeps its version 0, whatever has happened to the file', async () => {
    const first = await store.adopt(base);
    await log.commit((tx) => tx.append(topics.weights, first));
    await writeFile(base, 'other weights');
    expect(await store.adopt(base)).toEqual(first);
    await rm(base);
    expect(await store.adopt(base)).toEqual(first);
    expect(await readFile(join(folder.path, first.uri), 'utf8')).toBe('base weights');
  });

  test('publishes the weights of the trainer with the digest of the written file', async () => {
    const trainer = fakeTrainer();
    const first = await store.adopt(base);
    await trainer.restore(store.saved(first), 'train');
    const consumed = { partition: 0, offset: 8 };
    const parent = weights(4, 0);
    const made = await store.publish(trainer, { batch: batch(4, { round: 2 }), parent, consumed });
    expect(made).toMatchObject({ version: 5, parent: 4, step: 5, roundsDone: 1, consumed });
    expect(made.parentDigest).toBe('digest 4');
    expect(digest(await readFile(join(folder.path, made.uri), 'utf8'))).toBe(made.digest);
    const state = await readFile(join(folder.path, made.state), 'utf8');
    expect(store.saved(made).state).toEqual({
      version: 5,
      uri: join(folder.path, made.state),
      digest: digest(state),
    });
    expect(names()).toContain('000005.optimiser.safetensors');
  });

  test('counts a round as done with its last step', async () => {
    const trainer = fakeTrainer();
    const consumed = { partition: 0, offset: 0 };
    const parent = await store.adopt(base);
    const rounds = [];
    for (const last of [false, true]) {
      rounds.push(
        (await store.publish(trainer, { batch: batch(1, { round: 3, last }), parent, consumed }))
          .roundsDone,
      );
    }
    expect(rounds).toEqual([2, 3]);
  });

  test('finds its checkpoints even if the run folder was moved', async () => {
    const made = await store.adopt(base);
    const moved = weightsStore('/elsewhere/run', log);
    expect(moved.resolve(made).uri).toBe('/elsewhere/run/weights/000000.safetensors');
  });

  test('records what a trainer keeps in a service unchanged, and leaves it there', async () => {
    const trainer = {
      ...fakeTrainer(),
      save: async ({ version }: SaveTarget) => ({
        weights: { version, uri: `tinker://m/sampler_weights/v${version}`, digest: null },
        state: { version, uri: `tinker://m/weights/v${version}`, digest: null },
        bytes: 0,
      }),
    };
    const consumed = { partition: 0, offset: 0 };
    const parent = await store.adopt(base);
    const made = await store.publish(trainer, { batch: batch(0), parent, consumed });
    expect(made).toMatchObject({
      uri: 'tinker://m/sampler_weights/v1',
      digest: null,
      state: 'tinker://m/weights/v1',
      stateDigest: null,
      parentDigest: parent.digest,
    });
    await log.commit((tx) => {
      tx.append(topics.weights, parent);
      tx.append(topics.weights, made);
    });
    const found = await store.manifest(1);
    expect(store.saved(found).state?.uri).toBe('tinker://m/weights/v1');
    await store.forget(1);
    expect(names()).toEqual(['000000.safetensors']);
  });

  test('reads the manifests of runs from before references', async () => {
    const { schema } = readFixture('weights', 1);
    const codec = avroCodec<object>('weights', { render: () => schema });
    const older: Topic<object> = { ...topics.weights, version: 1, codec, key: () => '3' };
    const place = { version: 3, parent: 2, step: 3, roundsDone: 1, bytes: 9, consumed: null };
    const [file, optimiser] = [
      'weights/000003.safetensors',
      'weights/000003.optimiser.safetensors',
    ];
    await log.commit((tx) => tx.append(older, { ...place, file, sha256: 'ab', optimiser }));
    const found = await store.manifest(3);
    expect(found).toEqual({
      ...place,
      uri: file,
      digest: 'ab',
      state: optimiser,
      stateDigest: null,
      parentDigest: null,
      controls: 0,
    });
    expect(store.saved(found)).toEqual({
      weights: { version: 3, uri: join(folder.path, file), digest: 'ab' },
      state: { version: 3, uri: join(folder.path, optimiser), digest: null },
    });
  });

  test('fails with a reason for a version that was never committed', async () => {
    await store.adopt(base);
    await expect(store.manifest(3)).rejects.toMatchObject({ code: 'NO_WEIGHTS' });
    await expect(store.manifest(3)).rejects.toThrow('version 3');
  });

  test('never removes the first version, and may remove others twice', async () => {
    const first = await store.adopt(base);
    const consumed = { partition: 0, offset: 0 };
    const second = await store.publish(fakeTrainer(), { batch: batch(0), parent: first, consumed });
    await log.commit((tx) => {
      tx.append(topics.weights, first);
      tx.append(topics.weights, second);
    });
    await store.forget(-1);
    await store.forget(0);
    expect(names()).toHaveLength(3);
    await store.forget(1);
    await store.forget(1);
    expect(names()).toEqual(['000000.safetensors']);
  });
});
