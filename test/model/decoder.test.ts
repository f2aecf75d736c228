import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type DecoderConfig, initialise, parameterShapes } from '../../model/config.ts';
import { Graph } from '../../model/graph/graph.ts';
import { losses } from '../../model/losses/losses.ts';
import type { Feed, Feeds, Session } from '../../model/runtime/session.ts';
import { addRows } from '../../model/train/gradientSums.ts';
import {
  adapterParameters,
  EMBEDDED_GRADIENT,
  EMBEDDING,
  GRADIENT,
  type TrainGraphOptions,
  trainGraph,
} from '../../model/train/trainGraph.ts';
import { decoderLogits } from '../support/decoderLogits.ts';
import { compareGradients, numbers } from './graph/finiteDifferences.ts';
import { type GraphRunner, graphRunner } from './runtime/graphRunner.ts';
import { readVectors, referencePolicy, worstError } from './vectors.ts';

let runner: GraphRunner;
beforeAll(() => {
  runner = graphRunner();
});
afterAll(() => runner.close());

const sft = losses.sft.prepare({});
const clipped = losses.clipped.prepare({});

const tiny: DecoderConfig = {
  architecture: 'qwen2',
  vocabSize: 11,
  hiddenSize: 8,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  intermediateSize: 12,
  headDim: 4,
  ropeTheta: 100,
  rmsEps: 1e-6,
  attentionBias: true,
  tiedEmbeddings: true,
};

/** Weights far from their first values, so that no gradient is small by chance. */
function rough(config: DecoderConfig): Record<string, Feed> {
  const tensors = [...initialise(config, 3)].map(
    ([name, { shape, data }], salt): [string, Feed] => {
      const wide = Float64Array.from(
        data,
        (value, i) => value * 8 + 0.15 * Math.sin(i * 1.7 + salt),
      );
      return [name, { shape, data: wide }];
    },
  );
  return Object.fromEntries(tensors);
}

const whole = (data: readonly number[], shape = [data.length]): Feed => ({
  shape,
  data: Int32Array.from(data),
});
const real = (data: readonly number[], shape = [data.length]): Feed => ({
  shape,
  data: Float64Array.from(data),
});

/** The session with the embedding's gradient put together from its two parts. */
function assembled(session: Session): Session {
  const name = `${GRADIENT}${EMBEDDING}`;
  return {
    release: () => session.release(),
    async run(feeds) {
      const results = await session.run(feeds);
      const rows = results[EMBEDDED_GRADIENT];
      if (rows === undefined) return results;
      const { shape, data } = feeds[EMBEDDING] as Feed;
      const gradient = new Float64Array(results[name]?.data ?? data.length);
      addRows(gradient, (feeds.tokens as Feed).data as Int32Array, rows.data as Float64Array);
      return { ...results, [name]: { shape, data: gradient } };
    },
  };
}

/** Two rows of five tokens, the second padded from its third; four targets. */
const batch: Feeds = {
  tokens: whole([1, 5, 5, 2, 9, 3, 10, 0, 0, 0], [2, 5]),
  rows: whole([1, 3, 4, 6]),
  targets: whole([5, 9, 0, 7]),
  weights: real([0.3, 0.2, 0.4, 0.1]),
};

describe('gradients of the whole decoder agree with finite differences', () => {
  const untied = { ...tiny, tiedEmbeddings: false, attentionBias: false } as const;
  const qwen3 = {
    ...untied,
    architecture: 'qwen3',
    qkNorm: true,
    headDim: 6,
    kvHeads: 1,
    ropeScaling: { kind: 'yarn', factor: 4, originalMaxPositions: 8, betaFast: 2 },
  } as const;
  const llama = {
    ...tiny,
    architecture: 'llama',
    outputBias: true,
    mlpBias: true,
    kvHeads: 4,
    ropeScaling: { kind: 'linear', factor: 2 },
  } as const;
  const shapes: readonly (readonly [string, DecoderConfig, TrainGraphOptions])[] = [
    ['tied', tiny, {}],
    ['untied without biases', untied, {}],
    ['tied, in chunks of the vocabulary', tiny, { vocabularyChunk: 4 }],
    ['untied, layers computed again', untied, { recompute: true }],
    ['Qwen3', qwen3, {}],
    ['Llama with every bias', llama, {}],
  ];
  const policy: Feeds = {
    advantages: real([1.5, -0.7, 0.9, -1.1]),
    oldLogProbs: real([0, 0, 0, 0]),
    ratioMin: real([0.01], []),
    ratioMax: real([100], []),
    clipC: real([500], []),
    keepClipped: real([0], []),
    entropyWeight: real([0], []),
  };
  test.each(shapes)('for the cross-entropy, %s', async (_, config, options) => {
    const model = trainGraph(config, sft.graph, { float: 'float64', ...options });
    const session = assembled(await runner.open(model, { threads: 1, optimise: false }));
    const weights = rough(config);
    const agreement = await compareGradients(
      session,
      { ...batch, ...weights },
      Object.keys(weights),
      6,
    );
    expect(agreement.quietest).toBeGreaterThan(1e-5);
    expect(agreement.error).toBeLessThan(1e-6);
    await session.release();
  });
  test.each(shapes)('for the clipped policy loss, %s', async (_, config, options) => {
    const model = trainGraph(config, clipped.graph, { float: 'float64', ...options });
    const session = assembled(await runner.open(model, { threads: 1, optimise: false }));
    const weights = rough(config);
    const { logProbs } = await session.run({ ...batch, ...policy, ...weights });
    const old = Array.from(logProbs!.data, (value, i) => value + [0.2, -0.3, 0.1, 0.4][i]!);
    const feeds = { ...batch, ...policy, ...weights, oldLogProbs: real(old) };
    const agreement = await compareGradients(session, feeds, Object.keys(weights), 6);
    expect(agreement.quietest).toBeGreaterThan(1e-5);
    expect(agreement.error).toBeLessThan(1e-6);
    await session.release();
  });
  test('for adapters that are trained alone', async () => {
    const adapters = new Map([
      ['model.layers.0.self_attn.v_proj', { rank: 2, scale: 0.5 }],
      ['model.layers.1.mlp.down_proj', { rank: 3, scale: 2 }],
    ]);
    const model = trainGraph(tiny, sft.graph, { float: 'float64', adapters });
    const session = await runner.open(model, { threads: 1 });
    const factors = [...adapterParameters(tiny, adapters)].map(([name, shape], salt) => {
      const data = numbers(shape[0]! * shape[1]!, salt);
      return [name, { shape, data }] as const;
    });
    const feeds = { ...batch, ...rough(tiny), ...Object.fromEntries(factors) };
    const names = factors.map(([name]) => name);
    const { error, quietest } = await compareGradients(session, feeds, names, 8);
    expect(error).toBeLessThan(1e-6);
    expect(quietest).toBeGreaterThan(1e-5);
    const results = await session.run(feeds);
    const gradients = Object.keys(results).filter((name) => name.startsWith(GRADIENT));
    expect(gradients.length).toBe(4);
    await session.release();
  });
});

describe('the decoder gives the reference logits', () => {
  const { tolerance, cases } = readVectors<
    { readonly model: string; readonly inputIds: readonly number[] },
    { readonly logits: readonly (readonly number[])[] }
  >('model-forward');
  test.each(cases)('in case $id', async ({ args, expect: want }) => {
    const { config, tensors } = referencePolicy(args.model);
    const graph = new Graph();
    const parameters = new Map(
      [...parameterShapes(config)].map(([name, shape]) => [
        name,
        graph.input(name, 'float32', shape),
      ]),
    );
    graph.output('logits', decoderLogits(graph, config, parameters));
    const session = await runner.open(graph.model(), { threads: 1 });
    const { logits } = await session.run({
      ...Object.fromEntries(tensors),
      tokens: whole(args.inputIds, [1, args.inputIds.length]),
      rows: whole([...args.inputIds.keys()]),
    });
    expect(worstError(logits!.data, want.logits.flat())).toBeLessThan(tolerance);
    await session.release();
  });
});

test('a padded row of a batch gets the same gradients as alone', async () => {
  const { config, tensors } = referencePolicy('untied');
  const session = assembled(await runner.open(trainGraph(config, sft.graph), { threads: 1 }));
  const weights = Object.fromEntries(tensors);
  const one = (data: number[]): Feed => ({ shape: [data.length], data: Float32Array.from(data) });
  const alone = await session.run({
    ...weights,
    tokens: whole([4, 8, 15], [1, 3]),
    rows: whole([1, 2]),
    targets: whole([15, 16]),
    weights: one([0.5, 0.5]),
  });
  const padded = await session.run({
    ...weights,
    tokens: whole([4, 8, 15, 60, 61, 9, 9, 9, 9, 9], [2, 5]),
    rows: whole([1, 2]),
    targets: whole([15, 16]),
    weights: one([0.5, 0.5]),
  });
  for (const name of Object.keys(alone).filter((name) => name !== EMBEDDED_GRADIENT))
    expect(worstError(padded[name]!.data, Array.from(alone[name]!.data))).toBeLessThan(1e-5);
  await session.release();
});
