import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type WeightsStore, weightsStore } from '../../sinks/weights.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import type { Log } from '../../streams/log.ts';
import type { Batch } from '../../streams/records.ts';
import { topics } from '../../streams/topics.ts';
import { fakeTrainer } from '../support/fakeTrainer.ts';
import { temporaryFolder } from '../support/folder.ts';
import { batch as batchRecord } from '../support/records.ts';

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
  batchRecord({ step: version + 1, stage: 1, version, ...over });

describe('the weights store', () => {
  test('adopts the first policy as version 0, whole and with its digest', async () => {
    const first = await store.adopt(base);
    expect(first).toEqual({
      ...{ version: 0, parent: -1, step: 0, roundsDone: 0, optimiser: '', consumed: null },
      file: join('weights', '000000.safetensors'),
      sha256: digest('base weights'),
      bytes: 12,
    });
    expect(names()).toEqual(['000000.safetensors']);
    expect(store.resolve(first)).toEqual({
      version: 0,
      path: join(folder.path, first.file),
      sha256: first.sha256,
    });
    expect(store.files(first)).toEqual({ weights: join(folder.path, first.file) });
  });

  test('keeps the version 0 that it has, whatever has become of the file', async () => {
    const first = await store.adopt(base);
    await log.commit((tx) => tx.append(topics.weights, first));
    await writeFile(base, 'other weights');
    expect(await store.adopt(base)).toEqual(first);
    await rm(base);
    expect(await store.adopt(base)).toEqual(first);
    expect(await readFile(join(folder.path, first.file), 'utf8')).toBe('base weights');
  });

  test('publishes what the trainer holds, with the digest of the file that lies there', async () => {
    const trainer = fakeTrainer();
    await trainer.restore(store.files(await store.adopt(base)));
    const consumed = { partition: 0, offset: 8 };
    const made = await store.publish(trainer, batch(4, { stage: 2 }), consumed);
    expect(made).toMatchObject({ version: 5, parent: 4, step: 5, roundsDone: 1, consumed });
    expect(digest(await readFile(join(folder.path, made.file), 'utf8'))).toBe(made.sha256);
    expect(store.files(made).optimiser).toBe(join(folder.path, made.optimiser));
    expect(names()).toContain('000005.optimiser.safetensors');
  });

  test('counts a round as done with its last step', async () => {
    const trainer = fakeTrainer();
    const consumed = { partition: 0, offset: 0 };
    await store.adopt(base);
    const rounds = [];
    for (const last of [false, true]) {
      rounds.push(
        (await store.publish(trainer, batch(1, { stage: 3, last }), consumed)).roundsDone,
      );
    }
    expect(rounds).toEqual([2, 3]);
  });

  test('fails with a reason for a version that was never committed', async () => {
    await store.adopt(base);
    await expect(store.manifest(3)).rejects.toMatchObject({ code: 'NO_WEIGHTS' });
    await expect(store.manifest(3)).rejects.toThrow('version 3');
  });

  test('never forgets the first version, and forgets as often as it is asked', async () => {
    const first = await store.adopt(base);
    const second = await store.publish(fakeTrainer(), batch(0), { partition: 0, offset: 0 });
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
