/** Micro-batches without a gradient go forward only, and a step has the same bits as with all of its gradients. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { type DecoderConfig, initialise } from '../../../model/config.ts';
import type { Loss, TrainSequence } from '../../../model/engine.ts';
import { losses } from '../../../model/losses/losses.ts';
import { EmbeddedTrainer, type TrainerOptions } from '../../../model/train/trainer.ts';

const config: DecoderConfig = {
  architecture: 'qwen2',
  vocabSize: 50,
  hiddenSize: 32,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  intermediateSize: 48,
  ropeTheta: 10000,
  rmsEps: 1e-6,
  attentionBias: true,
  tiedEmbeddings: true,
};

const lengths = [30, 7, 18, 25, 3, 40, 33, 12];

/** Rows of these numbers have advantages. */
function batch(rows: readonly number[], salt: number): TrainSequence[] {
  return lengths.map((length, row) => ({
    tokens: Int32Array.from({ length }, (_, i) => (i * i + 3 * row + 7 * i + salt) % 50),
    mask: Uint8Array.from({ length }, (_, i) => (i > 0 && (i + row) % 3 !== 0 ? 1 : 0)),
    advantages: new Float32Array(length).fill(rows.includes(row) ? row - 3.5 : 0),
    oldLogProbs: new Float32Array(length).fill(-3.9),
    refLogProbs: new Float32Array(length).fill(-4.1),
  }));
}

interface Trained {
  readonly reports: readonly unknown[];
  readonly forwardOnly: readonly (number | undefined)[];
  /** Of weights and optimiser state. */
  readonly digests: readonly (string | null | undefined)[];
}

const all = lengths.map((_, row) => row);
/**
 * Rows with advantages: two (one shares its micro-batch with row 7), none, one, all. With none, momentum and
 * decay still move the weights.
 */
const steps = [[0, 1], [], [3], all];

async function trained(loss: Loss, options: Partial<TrainerOptions>): Promise<Trained> {
  const policy = { config, tensors: initialise(config, 5) };
  const settings = { microBatchTokensMax: 40, ...options.settings };
  const trainer = await EmbeddedTrainer.create({ policy, ...options, settings });
  const folder = await mkdtemp(join(tmpdir(), 'forward-'));
  try {
    const reports: unknown[] = [];
    const counts: (number | undefined)[] = [];
    for (const [salt, rows] of steps.entries()) {
      const sequences = batch(rows, salt);
      const report = await trainer.step({ sequences, loss, lr: 0.01 });
      const { forwardOnly, ms, loopGapMs, ...same } = report;
      reports.push(same);
      counts.push(forwardOnly);
    }
    const { weights, state } = await trainer.save({ version: 1, folder });
    return { reports, forwardOnly: counts, digests: [weights.digest, state?.digest] };
  } finally {
    await trainer.close();
    await rm(folder, { recursive: true });
  }
}

const module = new URL('./losses/everyRow.ts', import.meta.url).href;
const everyRow = ({ name, settings = {} }: Loss): Loss => ({
  name,
  module,
  settings: { of: name, settings },
});

async function expectSame(
  loss: Loss,
  options: Partial<TrainerOptions> = {},
): Promise<Trained['forwardOnly']> {
  const [skipping, whole] = [await trained(loss, options), await trained(everyRow(loss), options)];
  expect(skipping.digests).toEqual(whole.digests);
  expect(skipping.reports).toEqual(whole.reports);
  expect(whole.forwardOnly).toEqual([0, 0, 0, 0]);
  return skipping.forwardOnly;
}

const names = Object.keys(losses) as (keyof typeof losses)[];
const overRollouts = names.filter((name) => losses[name].data === 'rollouts');
const overTexts = names.filter((name) => losses[name].data !== 'rollouts');

test.each(overRollouts)('%s skips the gradient of sequences without an advantage', async (name) => {
  expect(await expectSame({ name })).toEqual([5, 8, 7, 0]);
});

test.each(overTexts)('%s has a gradient at every sequence', async (name) => {
  expect(await expectSame({ name })).toEqual([0, 0, 0, 0]);
});

test.each(overRollouts)('%s skips nothing with a divergence or an entropy bonus', async (name) => {
  for (const settings of [{ kl: { coefficient: 0.1 } }, { entropyCoefficient: 0.01 }])
    expect(await expectSame({ name, settings })).toEqual([0, 0, 0, 0]);
});

const lora = { rank: 2, alpha: 4, targets: ['q_proj', 'up_proj'] as const, seed: 1, base: 'base' };

const cases: readonly (readonly [string, Partial<TrainerOptions>, Loss['settings']])[] = [
  ['AEPO’s advantages', {}, { aepo: { clipping: true, advantageWeight: 0.2 } }],
  ['means over sequences', {}, { aggregation: 'seq-mean-token-mean' }],
  ['packed rows', { settings: { packing: 'packed' } }, {}],
  ['balanced micro-batches', { settings: { packing: 'karmarkar-karp' } }, {}],
  ['recomputed activations', { settings: { recompute: true } }, {}],
  ['an adapter', { adapter: { adapter: lora, publish: 'merged' } }, {}],
  ['two threads', { threads: 2 }, {}],
];

test.each(cases)('with %s the bits are the same too', async (_, own, settings = {}) => {
  const counts = await expectSame({ name: 'clipped', settings }, own);
  expect(counts[1]).toBe(8);
});

test('a number that is missing or may overflow is still noticed', () => {
  const { learns } = losses.clipped.prepare({});
  const [sequence] = batch([], 0);
  const { length } = sequence!.tokens;
  const target = { ...sequence!, places: [1, 2] };
  const filled = (value: number) => new Float32Array(length).fill(value);
  expect(learns(target)).toBe(false);
  expect(learns({ ...target, advantages: filled(Number.NaN) })).toBe(true);
  expect(learns({ ...target, oldLogProbs: filled(Number.NaN) })).toBe(true);
  expect(learns({ ...target, oldLogProbs: filled(-90) })).toBe(true);
  expect(learns({ ...target, importance: filled(Number.POSITIVE_INFINITY) })).toBe(true);
  expect(learns({ ...target, importance: filled(0.5) })).toBe(false);
});
