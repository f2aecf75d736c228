/** Training and scoring on several numbers of threads: the same bits. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { type DecoderConfig, parameterShapes } from '../../../model/config.ts';
import type { Loss, TrainSequence } from '../../../model/engine.ts';
import type { Policy } from '../../../model/policyFile.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'threads-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const TARGETS = ['q_proj', 'v_proj', 'up_proj', 'down_proj'] as const;
const THREADS = [1, 2, 3, 8];

const COMMON = { rmsEps: 1e-6, ropeTheta: 10_000, layers: 2, architecture: 'qwen2' } as const;

/** A policy of small numbers of both signs; its norms are 1. */
function policy(config: DecoderConfig): Policy {
  let state = 7;
  const next = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state / 2 ** 32 - 0.5) / 8;
  };
  const tensors = [...parameterShapes(config)].map(([name, shape]) => {
    const length = shape.reduce((product, size) => product * size, 1);
    const data = name.includes('norm')
      ? new Float32Array(length).fill(1)
      : Float32Array.from({ length }, next);
    return [name, { shape, data }] as const;
  });
  return { config, tensors: new Map(tensors) };
}

const policies: Readonly<Record<string, Policy>> = {
  'narrow keys, wide vocabulary': policy({
    ...COMMON,
    vocabSize: 4096,
    hiddenSize: 128,
    heads: 4,
    kvHeads: 2,
    intermediateSize: 256,
    attentionBias: true,
    tiedEmbeddings: false,
  }),
  'wide, small vocabulary, tied head': policy({
    ...COMMON,
    vocabSize: 60,
    hiddenSize: 320,
    heads: 5,
    kvHeads: 1,
    intermediateSize: 832,
    attentionBias: false,
    tiedEmbeddings: true,
  }),
};

const losses: Readonly<Record<string, Loss>> = {
  sft: { name: 'sft' },
  clipped: { name: 'clipped', settings: { clipHigh: 0.28 } },
  gspo: { name: 'gspo' },
};

/** Batches of few tokens and of many, on either side of what products are shared out by. */
const LENGTHS = [[2], [20], [33], [128], [33, 33, 33, 33], [200, 130, 7, 64, 300], [5, 4]];

function batch(lengths: readonly number[], vocabSize: number): TrainSequence[] {
  const random = draws('threads', lengths.join(' '));
  return lengths.map((length) => ({
    tokens: Int32Array.from({ length }, (_, i) => random.integer(i, vocabSize)),
    mask: Uint8Array.from({ length }, (_, i) => (i > 0 && i % 5 !== 0 ? 1 : 0)),
    advantages: new Float32Array(length).fill(random.uniform(length) - 0.5),
    oldLogProbs: new Float32Array(length).fill(-4),
  }));
}

/** Weights after a step on each batch, and what they say of a sequence. */
async function trained(name: string, kind: string, threads: number, lora: boolean) {
  const policy = policies[name]!;
  const initial = { rank: 8, alpha: 16, targets: TARGETS, seed: 1 };
  const adapter = lora ? { adapter: { adapter: initial, publish: 'merged' as const } } : {};
  const trainer = await EmbeddedTrainer.create({ policy, threads, ...adapter });
  const reports = [];
  for (const lengths of LENGTHS) {
    const sequences = batch(lengths, policy.config.vocabSize);
    const { loss, gradNorm } = await trainer.step({ sequences, loss: losses[kind]!, lr: 1e-3 });
    reports.push([loss, gradNorm]);
  }
  const scores = await trainer.score(LENGTHS.map(([length]) => batch([length!], 60)[0]!.tokens));
  const weights = join(folder, `${threads}.safetensors`);
  await trainer.write(weights);
  await trainer.close();
  const scored = scores.map(({ logProbs }) => Buffer.from(logProbs.buffer).toString('base64'));
  return { reports, scored, weights: readFileSync(weights).toString('base64') };
}

test.each(
  Object.keys(policies).flatMap((name) => [
    { name, loss: 'sft', lora: false },
    { name, loss: 'clipped', lora: true },
    { name, loss: 'gspo', lora: false },
  ]),
)(
  'training $name by $loss (LoRA: $lora) gives the same weights and scores on any number of threads',
  async ({ name, loss, lora }) => {
    const first = await trained(name, loss, 1, lora);
    for (const threads of THREADS.slice(1)) {
      const other = await trained(name, loss, threads, lora);
      expect(other.reports).toEqual(first.reports);
      expect(other.scored).toEqual(first.scored);
      expect(other.weights === first.weights).toBe(true);
    }
  },
);
