import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type DecoderConfig, initialise, type Tensors } from '../../model/config.ts';
import { cachedForm } from '../../model/decoder.ts';
import { Graph } from '../../model/graph/graph.ts';
import { type GraphRunner, graphRunner } from '../../model/runtime/graphRunner.ts';
import type { Feed, Feeds, Session } from '../../model/runtime/session.ts';
import { trainGraph } from '../../model/train/trainGraph.ts';
import { compareGradients } from './graph/finiteDifferences.ts';
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
  positions: whole([0, 1, 2, 3, 4], [1, 5]),
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

/** A session of the cached form with its weights inside. */
function openCached(config: DecoderConfig, tensors: Tensors, threads = 1): Promise<Session> {
  const graph = new Graph();
  const { logits, keys, values } = cachedForm(graph, config, (name, shape) => {
    const { data } = tensors.get(name)!;
    return graph.initialiser(name, 'float32', shape, new Uint8Array(data.buffer));
  });
  graph.output('logits', logits);
  for (const [layer, value] of keys.entries()) graph.output(`newKeys.${layer}`, value);
  for (const [layer, value] of values.entries()) graph.output(`newValues.${layer}`, value);
  return runner.open(graph.model(), { threads });
}

/** Feeds of a single row whose first `held` slots of `slots` are filled from `cache`. */
function cachedFeeds(
  tokens: readonly number[],
  config: DecoderConfig,
  cache: Feeds | null,
  slots: number,
): Feeds {
  const width = config.headDim ?? config.hiddenSize / config.heads;
  const held = cache?.['newKeys.0']?.shape[2] ?? 0;
  const feeds: Record<string, Feed> = {
    tokens: whole(tokens, [1, tokens.length]),
    positions: whole(
      tokens.map((_, i) => held + i),
      [1, tokens.length],
    ),
    rows: whole([...tokens.keys()]),
    cacheMask: {
      shape: [1, 1, 1, slots],
      data: Float32Array.from({ length: slots }, (_, i) =>
        i < held ? 0 : Number.NEGATIVE_INFINITY,
      ),
    },
  };
  for (let layer = 0; layer < config.layers; layer++)
    for (const kind of ['keys', 'values'] as const) {
      const rows = cache?.[`new${kind === 'keys' ? 'Keys' : 'Values'}.${layer}`]?.data ?? [];
      const data = new Float32Array(config.kvHeads * slots * width).fill(7);
      for (let head = 0; head < config.kvHeads; head++)
        for (let i = 0; i < held * width; i++)
          data[head * slots * width + i] = rows[head * held * width + i] as number;
      feeds[`${kind}.${layer}`] = { shape: [1, config.kvHeads, slots, width], data };
    }
  return feeds;
}

describe('the cached form', () => {
  const { tolerance, cases } = readVectors<
    { readonly model: string; readonly inputIds: readonly number[] },
    { readonly logits: readonly (readonly number[])[] }
  >('model-forward');

  test.each(cases)(
    'gives the reference logits from an empty cache: $id',
    async ({ args, expect: want }) => {
      const { config, tensors } = referencePolicy(args.model);
      const session = await openCached(config, tensors);
      const { logits } = await session.run(cachedFeeds(args.inputIds, config, null, 0));
      expect(worstError(logits!.data, want.logits.flat())).toBeLessThan(tolerance);
      await session.release();
    },
  );

  test('continues from a cache with empty slots as if it had seen the whole sequence', async () => {
    const { args, expect: want } = cases.find((item) => item.args.inputIds.length > 8)!;
    const { config, tensors } = referencePolicy(args.model);
    const session = await openCached(config, tensors);
    const before = await session.run(cachedFeeds(args.inputIds.slice(0, 5), config, null, 3));
    const rest = args.inputIds.slice(5);
    const { logits } = await session.run(cachedFeeds(rest, config, before, 8));
    expect(worstError(logits!.data, want.logits.slice(5).flat())).toBeLessThan(tolerance);
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
    positions: whole([0, 1, 2], [1, 3]),
    rows: whole([1, 2]),
    targets: whole([15, 16]),
    weights: one([0.5, 0.5]),
  });
  const padded = await session.run({
    ...weights,
    tokens: whole([4, 8, 15, 60, 61, 9, 9, 9, 9, 9], [2, 5]),
    positions: whole([0, 1, 2, 3, 4], [1, 5]),
    rows: whole([1, 2]),
    targets: whole([15, 16]),
    weights: one([0.5, 0.5]),
  });
  for (const name of Object.keys(alone))
    expect(worstError(padded[name]!.data, Array.from(alone[name]!.data))).toBeLessThan(1e-5);
  await session.release();
});
