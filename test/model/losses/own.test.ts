import { expect, test } from '@jest/globals';
import { type DecoderConfig, initialise } from '../../../model/config.ts';
import type { Loss, TrainSequence } from '../../../model/engine.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';

const config: DecoderConfig = {
  architecture: 'qwen2',
  vocabSize: 20,
  hiddenSize: 16,
  layers: 1,
  heads: 2,
  kvHeads: 1,
  intermediateSize: 24,
  ropeTheta: 100,
  rmsEps: 1e-6,
  attentionBias: true,
  tiedEmbeddings: true,
};
const module = new URL('./own/reinforce.ts', import.meta.url).href;

test('a loss in a file of the user’s is trained with in the worker', async () => {
  const trainer = await EmbeddedTrainer.create({
    policy: { config, tensors: initialise(config, 1) },
  });
  const sequences = [5, 8].map((length, row): TrainSequence => {
    const tokens = Int32Array.from({ length }, (_, i) => (3 * i + row) % 20);
    const mask = Uint8Array.from({ length }, (_, i) => (i > 1 ? 1 : 0));
    const advantages = new Float32Array(length).fill(row === 0 ? 1 : -0.5);
    return { tokens, mask, advantages, oldLogProbs: new Float32Array(length) };
  });
  const step = (loss: Loss, lr = 0) => trainer.step({ sequences, loss, lr });
  const own = { name: 'reinforce', module };
  const once = await step(own);
  expect(once.numbers).toEqual({ 'own/targets': 9 });
  const scores = await trainer.score(sequences.map(({ tokens }) => tokens));
  const want = sequences.flatMap(({ mask, advantages }, row) =>
    [...scores[row]!.logProbs].map((p, t) => (mask[t] === 1 ? (-p * advantages[t]!) / 9 : 0)),
  );
  expect(once.loss).toBeCloseTo(
    want.reduce((sum, value) => sum + value, 0),
    5,
  );
  const twice = await step({ ...own, settings: { strength: 2 } }, 0.01);
  expect(twice.loss).toBeCloseTo(2 * once.loss, 5);
  expect((await step(own)).loss).toBeLessThan(once.loss);
  await expect(step({ ...own, settings: { force: 1 } })).rejects.toThrow('force');
  const nothing = new URL('./examples.ts', import.meta.url).href;
  await expect(step({ name: 'x', module: nothing })).rejects.toThrow('exports no loss');
  await trainer.close();
});
