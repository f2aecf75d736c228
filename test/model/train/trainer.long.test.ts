import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type DecoderConfig, initialise } from '../../../model/config.ts';
import { lagCorrected } from '../../../model/credit/lagCorrection.ts';
import type { Loss, TrainSequence } from '../../../model/engine.ts';
import { loadPolicy } from '../../../model/hf/loadPolicy.ts';
import type { NamedLoss } from '../../../model/losses/losses.ts';
import type { Aggregation } from '../../../model/losses/parts/tokenWeights.ts';
import { EmbeddedTrainer, type TrainerOptions } from '../../../model/train/trainer.ts';
import { dpoLoss } from '../../oracles/dpo.ts';
import { readVectors, referencePolicy, worstError } from '../vectors.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'trainer-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const open: EmbeddedTrainer[] = [];
async function start(options: TrainerOptions): Promise<EmbeddedTrainer> {
  const trainer = await EmbeddedTrainer.create(options);
  open.push(trainer);
  return trainer;
}
afterEach(async () => {
  for (const trainer of open.splice(0)) await trainer.close();
});

interface Args {
  readonly model: string;
  readonly kind: 'sft' | 'policy';
  readonly inputIds: readonly (readonly number[])[];
  readonly lossMask: readonly (readonly number[])[];
  readonly lr: number;
  readonly betas: readonly [number, number];
  readonly eps: number;
  readonly weightDecay: number;
  readonly maxGradNorm: number;
  readonly steps: number;
  readonly variant?: string;
  readonly advantages?: readonly (readonly number[])[];
  readonly oldLogProbs?: readonly (readonly number[])[];
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly clipC: number;
  readonly aggregation: Aggregation;
}
interface Expect {
  readonly losses: readonly number[];
  readonly gradNorms: readonly number[];
  readonly tensors: Readonly<
    Record<
      string,
      {
        readonly sum: number;
        readonly sumSquares: number;
        readonly samples: readonly (readonly [number, number])[];
      }
    >
  >;
}

/** Masks and per-token numbers of the vectors cover the last tokens of a sequence. */
function sequencesOf({ inputIds, lossMask, advantages, oldLogProbs }: Args): TrainSequence[] {
  return inputIds.map((ids, index) => {
    const tail = (values: readonly number[] | undefined) => {
      const missing = new Array<number>(ids.length - (values?.length ?? 0)).fill(0);
      return [...missing, ...(values ?? [])];
    };
    return {
      tokens: Int32Array.from(ids),
      mask: Uint8Array.from(tail(lossMask[index])),
      advantages: Float32Array.from(tail(advantages?.[index])),
      oldLogProbs: Float32Array.from(tail(oldLogProbs?.[index])),
    };
  });
}

describe('training steps give the reference losses, norms and weights', () => {
  const { tolerance, cases } = readVectors<Args, Expect>('model-train');
  test.each(cases)('in case $id', async ({ id, args, expect: want }) => {
    const [beta1, beta2] = args.betas;
    const { eps, weightDecay, maxGradNorm: gradNormMax } = args;
    const settings = { beta1, beta2, eps, weightDecay, gradNormMax };
    const trainer = await start({ policy: referencePolicy(args.model), settings });
    const { clipLow, clipHigh, clipC, aggregation } = args;
    const aepo = { clipping: true, advantageWeight: 0.2 };
    const clipping = { clipLow, clipHigh, clipC, aggregation };
    const balanced = args.variant === 'entropy-balanced';
    const loss: NamedLoss =
      args.kind === 'sft'
        ? { name: 'sft' }
        : { name: 'clipped', settings: balanced ? { ...clipping, aepo } : clipping };
    for (let step = 0; step < args.steps; step++) {
      const report = await trainer.step({ sequences: sequencesOf(args), loss, lr: args.lr });
      expect(worstError([report.loss], [want.losses[step]!])).toBeLessThan(tolerance);
      expect(worstError([report.gradNorm], [want.gradNorms[step]!])).toBeLessThan(tolerance);
    }
    await trainer.write(at(`${id}.safetensors`));
    const { tensors } = await loadPolicy(at(`${id}.safetensors`));
    for (const [name, { sum, sumSquares, samples }] of Object.entries(want.tensors)) {
      const { data } = tensors.get(name)!;
      const got = [
        data.reduce((total, value) => total + value, 0),
        data.reduce((total, value) => total + value * value, 0),
        ...samples.map(([place]) => data[place]!),
      ];
      const expected = [sum, sumSquares, ...samples.map(([, value]) => value)];
      expect(worstError(got, expected)).toBeLessThan(tolerance);
    }
  });
});

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
const policy = () => ({ config, tensors: initialise(config, 5) });

/** Sequences of different lengths with targets here and there. */
function batch(salt: number): TrainSequence[] {
  return [30, 7, 18, 25, 2, 40].map((length, row) => ({
    tokens: Int32Array.from({ length }, (_, i) => (i * i + 3 * row + 7 * i + salt) % 50),
    mask: Uint8Array.from({ length }, (_, i) => (i > 0 && (i + row) % 3 !== 0 ? 1 : 0)),
    advantages: new Float32Array(length).fill(row - 2),
    oldLogProbs: new Float32Array(length).fill(-3.9),
  }));
}
const clipped = { name: 'clipped', settings: { clipHigh: 0.28 } } satisfies NamedLoss;

const penalised = {
  name: 'clipped',
  settings: { clipHigh: 0.28, kl: { kind: 'k3', coefficient: 0.3 }, entropyCoefficient: 0.1 },
} satisfies NamedLoss;
const preferred: NamedLoss = { name: 'dpo', settings: { beta: 0.3 } };
function withReferences(sequences: TrainSequence[], logProb: number): TrainSequence[] {
  return sequences.map((sequence) => ({
    ...sequence,
    refLogProbs: new Float32Array(sequence.tokens.length).fill(logProb),
  }));
}

/** A step with each loss; returns the digest of the weights. */
async function digestOf(options: Partial<TrainerOptions>, name: string): Promise<string> {
  const trainer = await start({ policy: policy(), ...options });
  await trainer.step({ sequences: batch(1), loss: { name: 'sft' }, lr: 0.01 });
  await trainer.step({ sequences: batch(2), loss: clipped, lr: 0.01 });
  await trainer.step({ sequences: batch(3), loss: { name: 'sft' }, lr: 0.01 });
  const sequences = withReferences(batch(4), -4);
  await trainer.step({ sequences, loss: penalised, lr: 0.01 });
  await trainer.step({ sequences, loss: preferred, lr: 0.01 });
  return (await trainer.write(at(name))).sha256;
}

test('the same batches give the same weights on one thread and on two', async () => {
  const digests = [
    await digestOf({ threads: 1 }, 'a'),
    await digestOf({ threads: 2 }, 'b'),
    await digestOf({ threads: 2 }, 'c'),
  ];
  expect(new Set(digests).size).toBe(1);
});

test('micro-batches add up to the whole batch', async () => {
  const whole = await start({ policy: policy() });
  const settings = { microBatchTokensMax: 40 };
  const cut = await start({ policy: policy(), settings });
  const balanced = await start({
    policy: policy(),
    settings: { ...settings, packing: 'karmarkar-karp' },
  });
  const packed = await start({ policy: policy(), settings: { packing: 'packed' } });
  const packedSmall = await start({
    policy: policy(),
    settings: { ...settings, packing: 'packed' },
  });
  for (const loss of [clipped, penalised, preferred, { name: 'sft' }] as const) {
    const sequences = withReferences(batch(1), -4.2);
    const [want, ...got] = await Promise.all(
      [whole, cut, balanced, packed, packedSmall].map(async (trainer) => {
        const { ms, loopGapMs, forwardOnly, ...report } = await trainer.step({
          sequences,
          loss,
          lr: 0.01,
        });
        const { numbers, ...rest } = report;
        return [...Object.values(rest), ...Object.values(numbers)].map(Number);
      }),
    );
    for (const report of got) expect(worstError(report, want!)).toBeLessThan(1e-5);
  }
});

test('the policy loss adds the divergence from the reference and takes off the entropy', async () => {
  const trainer = await start({ policy: policy() });
  const sequences = batch(1);
  const scores = await trainer.score(sequences.map(({ tokens }) => tokens));
  const referred = sequences.map((sequence, i) => ({
    ...sequence,
    refLogProbs: scores[i]!.logProbs.map((value) => value - 0.5),
  }));
  const step = (loss: Loss) => trainer.step({ sequences: referred, loss, lr: 0 });
  const plain = await step(clipped);
  const { loss } = await step(penalised);
  // every token has d = 0.5, and token-mean makes the entropy term the mean entropy
  const k3 = Math.exp(-0.5) + 0.5 - 1;
  expect(loss - plain.loss).toBeCloseTo(0.3 * k3 - 0.1 * (plain.entropy ?? Number.NaN), 5);
});

test('importance weights scale the clipped term of their tokens and nothing else', async () => {
  const trainer = await start({ policy: policy() });
  const step = (importance: number | null, loss: Loss) => {
    const sequences = withReferences(batch(1), -4.2).map((sequence) => ({
      ...sequence,
      ...(importance === null
        ? {}
        : { importance: new Float32Array(sequence.tokens.length).fill(importance) }),
    }));
    return trainer.step({ sequences, loss, lr: 0 });
  };
  const [plain, tripled] = [await step(null, clipped), await step(3, clipped)];
  expect(tripled.loss / plain.loss).toBeCloseTo(3, 5);
  expect(tripled.gradNorm / plain.gradNorm).toBeCloseTo(3, 5);
  const [ignored, terms] = [await step(0, clipped), await step(0, penalised)];
  expect(ignored.gradNorm).toBe(0);
  expect(terms.loss).toBeCloseTo((await step(1, penalised)).loss - plain.loss, 5);
});

test('the preference loss is the plain one of the scored pairs, and steps widen the margin', async () => {
  const trainer = await start({ policy: policy() });
  const sequences = withReferences(batch(1), -4.2);
  const summed = (values: (row: number) => Float32Array) =>
    sequences.map(({ mask }, row) =>
      values(row).reduce((sum, value, place) => sum + (mask[place] === 1 ? value : 0), 0),
    );
  const scores = await trainer.score(sequences.map(({ tokens }) => tokens));
  const policySums = summed((row) => scores[row]!.logProbs);
  const refSums = summed((row) => sequences[row]!.refLogProbs!);
  const half = (values: number[], odd: number) => values.filter((_, row) => row % 2 === odd);
  const want = dpoLoss({
    policyChosen: half(policySums, 0),
    policyRejected: half(policySums, 1),
    refChosen: half(refSums, 0),
    refRejected: half(refSums, 1),
    beta: 0.3,
  });
  const losses: number[] = [];
  for (let step = 0; step < 5; step++)
    losses.push((await trainer.step({ sequences, loss: preferred, lr: 0.003 })).loss);
  expect(losses[0]).toBeCloseTo(want.loss, 4);
  expect(losses.at(-1)!).toBeLessThan(0.8 * losses[0]!);
});

test('incomplete pairs are refused', async () => {
  const trainer = await start({ policy: policy() });
  const step = (sequences: TrainSequence[]) =>
    trainer.step({ sequences, loss: preferred, lr: 0.01 });
  const whole = withReferences(batch(1), -4);
  await expect(step(whole.slice(1))).rejects.toThrow('5 sequences cannot be paired');
  whole[3]!.mask.fill(0);
  await expect(step(whole)).rejects.toThrow('sequence 3 has no target tokens');
  await expect(step(batch(1))).rejects.toThrow('sequence 0 has no reference log-prob');
});

test('a step on corrected data is that on fresh data, its tokens weighted by how far they lag', async () => {
  const trainer = await start({ policy: policy() });
  const sequences = batch(1).map((sequence, row) => ({
    ...sequence,
    advantages: new Float32Array(sequence.tokens.length).fill(row === 3 ? 1 : 0),
  }));
  const scores = await trainer.score(sequences.map(({ tokens }) => tokens));
  const step = async (lag: number, cap?: number) => {
    const lagged = sequences.map((sequence, row) => {
      const proximal = scores[row]!.logProbs;
      const behaviour = { ...sequence, oldLogProbs: proximal.map((value) => value - lag) };
      return lagCorrected(behaviour, proximal, { kind: 'decoupled', ...(cap ? { cap } : {}) });
    });
    return trainer.step({ sequences: lagged, loss: clipped, lr: 0 });
  };
  const fresh = await step(0);
  expect(fresh.gradNorm).toBeGreaterThan(0.01);
  // far outside the clipping range, but the ratio is taken against the proximal policy
  const far = await step(1);
  expect(far.numbers['clip/fraction']).toBe(0);
  expect(far.loss / fresh.loss).toBeCloseTo(Math.E, 4);
  expect(far.gradNorm / fresh.gradNorm).toBeCloseTo(Math.E, 4);
  expect((await step(1, 2)).gradNorm).toBe(0);
});

test('a missing reference is demanded', async () => {
  const trainer = await start({ policy: policy() });
  const sequences = batch(1);
  sequences[0] = withReferences(sequences, -4)[0]!;
  const step = trainer.step({ sequences, loss: penalised, lr: 0.01 });
  await expect(step).rejects.toThrow('sequence 1 has no reference log-prob');
});

test('restore goes back to the saved weights and optimiser, bit for bit', async () => {
  const trainer = await start({ policy: policy(), threads: 2 });
  const step = (salt: number) => trainer.step({ sequences: batch(salt), loss: clipped, lr: 0.01 });
  await step(1);
  const saved = await trainer.save({ version: 3, folder: at('saved') });
  const { weights, bytes } = saved;
  expect(readFileSync(weights.uri).length).toBe(bytes);
  await step(2);
  const { sha256: onward } = await trainer.write(at('onward'));
  const other = await start({ policy: weights.uri });
  for (const resumed of [trainer, other]) {
    await resumed.restore(saved, 'train');
    expect((await resumed.write(at('again'))).sha256).toBe(weights.digest);
    await resumed.step({ sequences: batch(2), loss: clipped, lr: 0.01 });
    expect((await resumed.write(at('again'))).sha256).toBe(onward);
  }
  await trainer.restore(saved, 'score');
  await step(2);
  expect((await trainer.write(at('again'))).sha256).not.toBe(onward);
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

test.each(['weights', 'state'] as const)(
  'restore refuses %s of another digest, says which version, and keeps what the trainer has',
  async (part) => {
    const trainer = await start({ policy: policy() });
    await trainer.step({ sequences: batch(1), loss: clipped, lr: 0.01 });
    const saved = await trainer.save({ version: 7, folder: at(`flipped-${part}`) });
    const { uri } = saved[part] ?? saved.weights;
    await trainer.step({ sequences: batch(2), loss: clipped, lr: 0.01 });
    const before = await trainer.write(at('before'));
    const bytes = readFileSync(uri);
    bytes[bytes.length - 5]! ^= 1;
    writeFileSync(uri, bytes);
    const refused = expect(trainer.restore(saved, 'train')).rejects;
    await refused.toMatchObject({ code: 'DIGEST', context: { file: uri, version: 7 } });
    await expect(trainer.restore(saved, 'train')).rejects.toThrow(
      /version 7: .*has digest .*millrace rewind RUN --to step=N --into NAME/,
    );
    expect(await trainer.write(at('after'))).toEqual(before);
  },
);

test('a checkpoint of another kind is refused by name', async () => {
  const trainer = await start({ policy: policy() });
  const weights = { version: 2, uri: 'tinker://model/weights/v2', digest: null };
  await expect(trainer.restore({ weights, state: null }, 'train')).rejects.toMatchObject({
    code: 'CHECKPOINT_KIND',
    message: expect.stringContaining('tinker://model/weights/v2'),
  });
});

test('a step whose gradient is not finite changes nothing', async () => {
  const trainer = await start({ policy: policy() });
  await trainer.step({ sequences: batch(1), loss: clipped, lr: 0.01 });
  const target = { version: 1, folder: at('finite') };
  const saved = await trainer.save(target);
  const sequences = batch(2);
  sequences[2]!.advantages.fill(Number.POSITIVE_INFINITY);
  const report = await trainer.step({ sequences, loss: clipped, lr: 0.01 });
  expect(report.applied).toBe(false);
  expect(await trainer.save(target)).toEqual(saved);
});

test('the trainer scores the log-probs that a policy step starts from', async () => {
  const trainer = await start({ policy: policy(), settings: { microBatchTokensMax: 64 } });
  const sequences = batch(4);
  const scores = await trainer.score(sequences.map(({ tokens }) => tokens));
  const rescored = sequences.map((sequence, i) => ({
    ...sequence,
    oldLogProbs: scores[i]!.logProbs,
  }));
  const report = await trainer.step({ sequences: rescored, loss: clipped, lr: 0 });
  expect(report.numbers['logprob/diff_max']).toBeLessThan(1e-5);
  expect(report.numbers['clip/fraction']).toBe(0);
  const entropies = sequences.flatMap(({ mask }, i) =>
    [...scores[i]!.entropies].filter((_, place) => mask[place] === 1),
  );
  const mean = entropies.reduce((sum, value) => sum + value, 0) / entropies.length;
  expect(report.entropy).toBeCloseTo(mean, 5);
  expect(mean).toBeCloseTo(Math.log(50), 1);
});

test('a few steps on one batch lower its loss', async () => {
  const trainer = await start({ policy: policy() });
  const losses: number[] = [];
  for (let step = 0; step < 20; step++)
    losses.push(
      (await trainer.step({ sequences: batch(1), loss: { name: 'sft' }, lr: 0.01 })).loss,
    );
  expect(losses[0]).toBeCloseTo(Math.log(50), 1);
  expect(losses.at(-1)!).toBeLessThan(0.5 * losses[0]!);
});

test('a batch without targets and a token that the vocabulary lacks are refused', async () => {
  const trainer = await start({ policy: policy() });
  const step = (sequences: TrainSequence[]) =>
    trainer.step({ sequences, loss: { name: 'sft' }, lr: 0.01 });
  const masked = batch(1).map((sequence) => ({ ...sequence, mask: sequence.mask.fill(0) }));
  await expect(step(masked)).rejects.toThrow('no target tokens');
  const strange = batch(1);
  for (const token of [50, -1]) {
    strange[0]!.tokens[3] = token;
    await expect(step(strange)).rejects.toThrow(`sequence 0 has token ${token}`);
    const scoring = trainer.score(strange.map(({ tokens }) => tokens));
    await expect(scoring).rejects.toThrow(`sequence 0 has token ${token}`);
  }
  expect((await step(batch(1))).applied).toBe(true);
});

test('a policy file that does not exist fails the start with its name', async () => {
  await expect(EmbeddedTrainer.create({ policy: at('missing') })).rejects.toThrow('missing');
});

test('recomputed layers give the same weights, bit for bit', async () => {
  const kept = await digestOf({}, 'kept');
  expect(await digestOf({ settings: { recompute: true } }, 'again')).toBe(kept);
});

test('weight decay of matrices leaves norms and biases alone', async () => {
  const decayed = async (decay: 'all' | 'matrices') => {
    const trainer = await start({ policy: policy(), settings: { decay, weightDecay: 0.5 } });
    const none = batch(1).map((sequence) => ({ ...sequence, oldLogProbs: sequence.advantages }));
    for (const sequence of none) sequence.advantages.fill(0);
    await trainer.step({ sequences: none, loss: clipped, lr: 0.1 });
    await trainer.write(at(decay));
    return (await loadPolicy(at(decay))).tensors;
  };
  const [all, matrices] = [await decayed('all'), await decayed('matrices')];
  expect(all.get('model.norm.weight')!.data[0]).toBeCloseTo(0.95, 6);
  expect(matrices.get('model.norm.weight')!.data[0]).toBe(1);
  const name = 'model.layers.0.mlp.up_proj.weight';
  expect(matrices.get(name)).toEqual(all.get(name));
});
