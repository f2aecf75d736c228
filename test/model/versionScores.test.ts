/** What a trainer says of fixed sequences under each of its versions, although it has gone on. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Checkpoint, SavedCheckpoint, TrainBatch } from '../../model/engine.ts';
import { VersionScores } from '../../model/versionScores.ts';
import { type FakeTrainer, fakeTrainer } from '../support/fakeTrainer.ts';
import { temporaryFolder } from '../support/folder.ts';

const SEQUENCES = [Int32Array.of(1, 2, 3)];
const one = (value: number) => Float32Array.of(0, value);
const batch: TrainBatch = {
  sequences: [
    {
      tokens: Int32Array.of(1, 2),
      mask: Uint8Array.of(0, 1),
      advantages: one(1),
      oldLogProbs: one(-1),
    },
  ],
  loss: { name: 'sft' },
  lr: 1,
};

let folder: ReturnType<typeof temporaryFolder>;
let trainer: FakeTrainer;
let scores: VersionScores;
beforeEach(() => {
  folder = temporaryFolder();
  trainer = fakeTrainer();
  scores = new VersionScores(trainer);
});
afterEach(() => folder.remove());

const at = (version: number): Checkpoint => ({ version, uri: '', digest: null });
const follow = async (version: number) => (await scores.follow(at(version), SEQUENCES))?.[0];
async function stepTo(version: number): Promise<SavedCheckpoint> {
  await scores.step(batch);
  return scores.save({ version, folder: folder.path });
}

it('the scores of a version are those of the saved one, whatever the trainer learnt since', async () => {
  const first = await follow(0);
  await stepTo(1);
  await stepTo(2);
  const [second, third] = [await follow(1), await follow(2)];
  expect(first).toBeDefined();
  expect(new Set([first, second, third].map(String)).size).toBe(3);
  await stepTo(3);
  expect(await follow(1)).toEqual(second);
  const [now] = await trainer.score(SEQUENCES);
  expect(await follow(3)).toEqual(now!.logProbs);
});

it('the scores of a version are computed only on request', async () => {
  await stepTo(1);
  expect(trainer.scores).toEqual([]);
  expect(await follow(1)).toBeDefined();
  await stepTo(2);
  expect(trainer.scores).toHaveLength(2);
});

it('the scores of a version that is no longer in the trainer are null', async () => {
  await stepTo(1);
  await stepTo(2);
  expect(await follow(1)).toBeUndefined();
  expect(await follow(2)).toBeDefined();
});

it('the scores of a version are null between a step and its publication', async () => {
  await scores.step(batch);
  expect(await follow(0)).toBeUndefined();
});

it('the scores of a version that was restored are its own', async () => {
  await follow(0);
  const saved = await stepTo(1);
  const before = await follow(1);
  await stepTo(2);
  await scores.restore(saved, 'train');
  expect(await follow(1)).toEqual(before);
  const [now] = await trainer.score(SEQUENCES);
  expect(now!.logProbs).toEqual(before);
});

it('the scores of a version are null if a step interfered with its restoration', async () => {
  await follow(0);
  const saved = await stepTo(1);
  await stepTo(2);
  const restored = scores.restore(saved, 'train');
  await Promise.all([restored, scores.step(batch)]);
  const asked = trainer.scores.length;
  await follow(1);
  expect(trainer.scores).toHaveLength(asked);
});
