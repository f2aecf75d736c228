import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { gradients } from '../../../model/graph/gradients.ts';
import { Graph, type Value } from '../../../model/graph/graph.ts';
import {
  adapt,
  attention,
  judgeTokens,
  linear,
  pickRows,
  rmsNorm,
  rotate,
  swiglu,
} from '../../../model/graph/layers.ts';
import {
  add,
  matmul,
  multiply,
  reshape,
  subtract,
  sum,
  transpose,
} from '../../../model/graph/ops.ts';
import { recomputed } from '../../../model/graph/recompute.ts';
import { judgeInChunks } from '../../../model/graph/vocabulary.ts';
import { crossEntropy } from '../../../model/losses/sft.ts';
import type { Feed } from '../../../model/runtime/session.ts';
import { type GraphRunner, graphRunner } from '../runtime/graphRunner.ts';
import { worstError } from '../vectors.ts';
import { compareGradients, numbers } from './finiteDifferences.ts';

let runner: GraphRunner;
beforeAll(() => {
  runner = graphRunner();
});
afterAll(() => runner.close());

type Inputs = Readonly<Record<string, readonly number[]>>;

/** Sum of squares plus sum: every element of `x` has a gradient of its own. */
function spread(x: Value): Value {
  return sum(add(multiply(x, x), x));
}

/** Differentiable inputs by shape, whole-number inputs by value, and the loss that they make. */
interface Case {
  readonly name: string;
  readonly reals: Inputs;
  readonly ids?: Readonly<Record<string, readonly number[]>>;
  readonly loss: (inputs: Readonly<Record<string, Value>>) => Value;
}

const cases: readonly Case[] = [
  {
    name: 'add, subtract and multiply broadcast',
    reals: { a: [2, 3, 4], b: [3, 1], c: [4] },
    loss: ({ a, b, c }) => spread(multiply(subtract(add(a!, b!), c!), c!)),
  },
  {
    name: 'a value that is used twice adds its gradients',
    reals: { a: [3] },
    loss: ({ a }) => spread(multiply(a!, add(a!, a!))),
  },
  {
    name: 'reshape and transpose',
    reals: { a: [2, 6], b: [2, 3, 2] },
    loss: ({ a, b }) => spread(multiply(transpose(reshape(a!, [2, 2, 3]), [0, 2, 1]), b!)),
  },
  {
    name: 'matmul in batches',
    reals: { a: [2, 3, 4], b: [2, 4, 5] },
    loss: ({ a, b }) => spread(matmul(a!, b!)),
  },
  {
    name: 'linear with a bias',
    reals: { x: [3, 4], w: [5, 4], b: [5] },
    loss: ({ x, w, b }) => spread(linear(x!, w!, b!)),
  },
  {
    name: 'linear without a bias',
    reals: { x: [3, 4], w: [5, 4] },
    loss: ({ x, w }) => spread(linear(x!, w!, null)),
  },
  {
    name: 'rmsNorm',
    reals: { x: [3, 6], w: [6] },
    loss: ({ x, w }) => spread(rmsNorm(x!, w!, 1e-3)),
  },
  {
    name: 'swiglu',
    reals: { g: [3, 5], u: [3, 5] },
    loss: ({ g, u }) => spread(swiglu(g!, u!)),
  },
  {
    name: 'rotate',
    reals: { x: [2, 3, 4], y: [2, 3, 4] },
    loss: ({ x, y }) => {
      const angles = [0, 1, 2, 3, 4, 5].map((i) => i * 0.7);
      const [cos, sin] = [Math.cos, Math.sin].map((f) => x!.graph.reals(angles.map(f), [3, 2]));
      return spread(multiply(rotate(x!, cos!, sin!), y!));
    },
  },
  {
    name: 'attention under a mask',
    reals: { q: [2, 4, 3], k: [2, 2, 3], v: [2, 2, 3] },
    loss: ({ q, k, v }) => {
      const hidden = Number.NEGATIVE_INFINITY;
      const mask = q!.graph.reals([0, hidden, 0, 0, 0, hidden, 0, 0], [4, 2]);
      return spread(attention(q!, k!, v!, mask));
    },
  },
  {
    name: 'a linear layer with an adapter',
    reals: { x: [3, 4], w: [5, 4], down: [2, 4], up: [5, 2] },
    loss: ({ x, w, down, up }) => spread(adapt(linear(x!, w!, null), x!, down!, up!, 0.7)),
  },
  {
    name: 'a part that is computed again, twice over',
    reals: { x: [3, 4], w: [4, 4] },
    loss: ({ x, w }) => {
      const part = (value: Value) => swiglu(linear(value, w!, null), value);
      return spread(recomputed(recomputed(x!, [w!], part), [w!], part));
    },
  },
  {
    name: 'pickRows',
    reals: { x: [5, 3] },
    ids: { rows: [4, 1, 2] },
    loss: ({ x, rows }) => spread(pickRows(x!, rows!)),
  },
  {
    name: 'judgeTokens',
    reals: { logits: [3, 5] },
    ids: { targets: [4, 0, 0] },
    loss: ({ logits, targets }) => spread(judgeTokens(logits!, targets!).logProbs),
  },
  {
    name: 'the entropies of judgeTokens',
    reals: { logits: [3, 5] },
    ids: { targets: [4, 0, 0] },
    loss: ({ logits, targets }) => spread(judgeTokens(logits!, targets!).entropies),
  },
  {
    name: 'judgeInChunks, the last chunk shorter',
    reals: { x: [4, 3], head: [8, 3] },
    ids: { targets: [7, 0, 3, 2] },
    loss: ({ x, head, targets }) => spread(judgeInChunks(x!, head!, targets!, 3).logProbs),
  },
  {
    name: 'the entropies of judgeInChunks',
    reals: { x: [4, 3], head: [8, 3] },
    ids: { targets: [7, 0, 3, 2] },
    loss: ({ x, head, targets }) => spread(judgeInChunks(x!, head!, targets!, 3).entropies),
  },
];

function realFeeds(shapes: Inputs): Record<string, Feed> {
  const feeds = Object.entries(shapes).map(([name, shape], index) => {
    const count = shape.reduce((product, size) => product * size, 1);
    return [name, { shape, data: numbers(count, index + 1) }] as const;
  });
  return Object.fromEntries(feeds);
}

describe('gradients of operations agree with finite differences', () => {
  test.each(cases)('for $name', async ({ reals, ids = {}, loss }) => {
    const graph = new Graph('float64');
    const values: Record<string, Value> = {};
    for (const [name, shape] of Object.entries(reals))
      values[name] = graph.input(name, 'float64', shape);
    for (const [name, list] of Object.entries(ids))
      values[name] = graph.input(name, 'int32', [list.length]);
    const total = loss(values);
    graph.output('loss', total);
    const names = Object.keys(reals);
    for (const [index, gradient] of gradients(
      total,
      names.map((name) => values[name]!),
    ).entries())
      graph.output(`gradient:${names[index]}`, gradient);
    const session = await runner.open(graph.model(), { threads: 1, optimise: false });
    const whole = Object.entries(ids).map(([name, list]): [string, Feed] => {
      return [name, { shape: [list.length], data: Int32Array.from(list) }];
    });
    const feeds = { ...realFeeds(reals), ...Object.fromEntries(whole) };
    const { error, place, quietest } = await compareGradients(session, feeds, names, 100);
    expect({ place, close: error < 1e-7 }).toEqual({ place, close: true });
    expect(quietest).toBeGreaterThan(0.01);
    await session.release();
  });
});

test('cross-entropy over a vocabulary in chunks equals that over the whole', async () => {
  const graph = new Graph('float64');
  const [x, head] = [graph.input('x', 'float64', [5, 3]), graph.input('head', 'float64', [11, 3])];
  const targets = graph.input('targets', 'int32', [5]);
  const whole = judgeTokens(linear(x, head, null), targets);
  const cut = judgeInChunks(x, head, targets, 4);
  for (const which of ['logProbs', 'entropies'] as const) {
    graph.output(`whole ${which}`, whole[which]);
    graph.output(`cut ${which}`, cut[which]);
  }
  const session = await runner.open(graph.model(), { threads: 1 });
  const wide = (count: number, salt: number) => numbers(count, salt).map((value) => 20 * value);
  const results = await session.run({
    x: { shape: [5, 3], data: wide(15, 1) },
    head: { shape: [11, 3], data: wide(33, 2) },
    targets: { shape: [5], data: Int32Array.of(0, 3, 4, 8, 10) },
  });
  for (const which of ['logProbs', 'entropies'])
    expect(
      worstError(results[`cut ${which}`]!.data, Array.from(results[`whole ${which}`]!.data)),
    ).toBeLessThan(1e-11);
  await session.release();
});

test('recomputed activations are the same, bit for bit', async () => {
  const model = (apart: boolean) => {
    const graph = new Graph();
    const [x, w] = [graph.input('x', 'float32', [3, 4]), graph.input('w', 'float32', [4, 4])];
    const part = (value: Value) => swiglu(linear(value, w, null), value);
    const loss = spread(apart ? recomputed(x, [w], part) : part(x));
    graph.output('loss', loss);
    for (const [i, gradient] of gradients(loss, [x, w]).entries())
      graph.output(`gradient${i}`, gradient);
    return graph.model();
  };
  const data = (count: number, salt: number) => Float32Array.from(numbers(count, salt));
  const feeds = {
    x: { shape: [3, 4], data: data(12, 1) },
    w: { shape: [4, 4], data: data(16, 2) },
  };
  const results = await Promise.all(
    [false, true].map(async (apart) => {
      const session = await runner.open(model(apart), { threads: 1 });
      const outputs = await session.run(feeds);
      await session.release();
      return outputs;
    }),
  );
  expect(results[1]).toEqual(results[0]);
});

test('operations that no output needs are left out of the model', () => {
  const graph = new Graph();
  const a = graph.input('a', 'float32', [1]);
  const before = graph.model().length;
  multiply(a, graph.reals([1, 2, 3], [3]));
  expect(graph.model().length).toBe(before);
  graph.output('b', add(a, a));
  expect(graph.model().length).toBeGreaterThan(before);
});

test('cross-entropy is minus the weighted sum of log-probs', async () => {
  const graph = new Graph('float64');
  const logProbs = graph.input('logProbs', 'float64', ['M']);
  const loss = crossEntropy(logProbs);
  graph.output('loss', loss);
  graph.output('gradient:logProbs', gradients(loss, [logProbs])[0]!);
  const session = await runner.open(graph.model(), { threads: 1 });
  const vector = (...data: number[]) => ({ shape: [data.length], data: Float64Array.from(data) });
  const results = await session.run({ logProbs: vector(-1, -3), weights: vector(0.25, 0.75) });
  expect(results.loss?.data[0]).toBeCloseTo(2.5, 12);
  expect([...(results['gradient:logProbs']?.data ?? [])]).toEqual([-0.25, -0.75]);
  await session.release();
});

test('a parameter without influence on the loss is named', () => {
  const graph = new Graph();
  const [a, b] = [graph.input('a', 'float32', [1]), graph.input('b', 'float32', [1])];
  expect(() => gradients(sum(a), [a, b])).toThrow("the loss does not depend on 'b'");
});

test('shapes that do not broadcast are refused when the graph is built', () => {
  const graph = new Graph();
  const [a, b] = [graph.input('a', 'float32', ['N', 3]), graph.input('b', 'float32', ['M', 3])];
  expect(() => add(a, b)).toThrow('do not broadcast');
});
