import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type DecoderConfig, initialise, parameterShapes } from '../../model/config.ts';
import { decoderLogits } from '../../model/decoder.ts';
import { Graph } from '../../model/graph/graph.ts';
import type { Feed, Feeds } from '../../model/runtime/session.ts';
import { trainGraph } from '../../model/train/trainGraph.ts';
import { compareGradients } from './graph/finiteDifferences.ts';
import { type GraphRunner, graphRunner } from './runtime/graphRunner.ts';
import { readVectors, referencePolicy, worstError } from './vectors.ts';

let runner: GraphRunner;
beforeAll(() => {
  runner = graphRunner();
});
afterAll(() => runner.close());

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

/** Two rows of five tokens, the second padded from its third; four targets. */
const batch: Feeds = {
  tokens: whole([1, 5, 5, 2, 9, 3, 10, 0, 0, 0], [2, 5]),
  rows: whole([1, 3, 4, 6]),
  targets: whole([5, 9, 0, 7]),
  weights: real([0.3, 0.2, 0.4, 0.1]),
};

describe('gradients of the whole decoder agree with finite differences', () => {
  const shapes = [
    ['tied', tiny],
    ['untied without biases', { ...tiny, tiedEmbeddings: false, attentionBias: false }],
  ] as const;
  const policy: Feeds = {
    advantages: real([1.5, -0.7, 0.9, -1.1]),
    oldLogProbs: real([0, 0, 0, 0]),
    ratioMin: real([0.01], []),
    ratioMax: real([100], []),
    clipC: real([500], []),
    keepClipped: real([0], []),
    entropyWeight: real([0], []),
  };
  test.each(shapes)('cross-entropy, %s', async (_, config) => {
    const session = await runner.open(trainGraph(config, 'sft', 'float64'), { threads: 1 });
    const weights = rough(config);
    const agreement = await compareGradients(
      session,
      { ...batch, ...weights },
      Object.keys(weights),
      6,
    );
    expect(agreement.quietest).toBeGreaterThan(1e-4);
    expect(agreement.error).toBeLessThan(1e-6);
    await session.release();
  });
  test.each(shapes)('clipped policy loss, %s', async (_, config) => {
    const session = await runner.open(trainGraph(config, 'policy', 'float64'), { threads: 1 });
    const weights = rough(config);
    const { logProbs } = await session.run({ ...batch, ...policy, ...weights });
    const old = Array.from(logProbs!.data, (value, i) => value + [0.2, -0.3, 0.1, 0.4][i]!);
    const feeds = { ...batch, ...policy, ...weights, oldLogProbs: real(old) };
    const agreement = await compareGradients(session, feeds, Object.keys(weights), 6);
    expect(agreement.quietest).toBeGreaterThan(1e-4);
    expect(agreement.error).toBeLessThan(1e-6);
    await session.release();
  });
});

describe('the decoder gives the reference logits', () => {
  const { tolerance, cases } = readVectors<
    { readonly model: string; readonly inputIds: readonly number[] },
    { readonly logits: readonly (readonly number[])[] }
  >('model-forward');
  test.each(cases)('$id', async ({ args, expect: want }) => {
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

test('a padded row gets the gradients that it gets alone', async () => {
  const { config, tensors } = referencePolicy('untied');
  const session = await runner.open(trainGraph(config, 'sft'), { threads: 1 });
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
  for (const name of Object.keys(alone))
    expect(worstError(padded[name]!.data, Array.from(alone[name]!.data))).toBeLessThan(1e-5);
  await session.release();
});
