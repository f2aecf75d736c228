import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { gradients } from '../../../model/graph/gradients.ts';
import { Graph } from '../../../model/graph/graph.ts';
import { judgeTokens } from '../../../model/graph/layers.ts';
import {
  type KlEstimate,
  klPerToken,
  type Terms,
  withTerms,
} from '../../../model/losses/parts/terms.ts';
import { klEstimate } from '../../oracles/kl.ts';
import { compareGradients, numbers } from '../graph/finiteDifferences.ts';
import { type GraphRunner, graphRunner } from '../runtime/graphRunner.ts';
import { readVectors, worstError } from '../vectors.ts';

let runner: GraphRunner;
beforeAll(() => {
  runner = graphRunner();
});
afterAll(() => runner.close());

const vector = (data: readonly number[]) => ({
  shape: [data.length],
  data: Float64Array.from(data),
});
const scalar = (value: number) => ({ shape: [], data: Float64Array.of(value) });

/** Per-token estimates [M], and d sum / d logProb. */
async function estimates(
  kind: KlEstimate,
  logProbs: readonly number[],
  refLogProbs: readonly number[],
): Promise<{ values: Float64Array; slopes: Float64Array }> {
  const graph = new Graph('float64');
  const policy = graph.input('logProbs', 'float64', ['M']);
  graph.output('values', klPerToken(kind, policy, graph.input('reference', 'float64', ['M'])));
  const terms = { kl: kind, entropy: false };
  const total = withTerms(graph.scalar(0), { logProbs: policy, entropies: policy }, terms);
  graph.output('slopes', gradients(total, [policy])[0]!);
  const session = await runner.open(graph.model(), { threads: 1 });
  const results = await session.run({
    logProbs: vector(logProbs),
    refLogProbs: vector(refLogProbs),
    reference: vector(refLogProbs),
    termWeights: vector(logProbs.map(() => 1)),
    klCoefficient: scalar(1),
  });
  await session.release();
  return {
    values: results.values!.data as Float64Array,
    slopes: results.slopes!.data as Float64Array,
  };
}

const kinds = ['k1', 'abs', 'k2', 'k3'] as const;
const vectors = readVectors<
  { kind: string; logProbs: readonly number[]; refLogProbs: readonly number[] },
  readonly number[]
>('kl');

test('the KL divergence per token equals that of the reference', async () => {
  let tried = 0;
  for (const kind of kinds) {
    const cases = vectors.cases.filter(({ args }) => args.kind === kind);
    const all = (key: 'logProbs' | 'refLogProbs') => cases.flatMap(({ args }) => args[key]);
    const { values } = await estimates(kind, all('logProbs'), all('refLogProbs'));
    const want = cases.flatMap((item) => item.expect);
    expect(worstError(values, want)).toBeLessThan(vectors.tolerance);
    tried += want.length;
  }
  expect(tried).toBeGreaterThan(50);
});

test.each(kinds)(
  'the gradient of the KL divergence is that of the plain estimate: %s',
  async (kind) => {
    // the last two: k3 is held at 10, and e^-d overflows
    const logProbs = [-1, -2, -0.5, -0.1, -4, -900];
    const refLogProbs = [-1.5, -1, -9, -0.2, -0.5, -1];
    const { slopes } = await estimates(kind, logProbs, refLogProbs);
    const step = 1e-6;
    const want = logProbs.map((logProb, i) => {
      const at = (by: number) => klEstimate(kind, logProb + by, refLogProbs[i]!);
      return (at(step) - at(-step)) / (2 * step);
    });
    expect(worstError(slopes, want)).toBeLessThan(1e-7);
  },
);

describe('the terms of a policy loss', () => {
  const rows = [0.3, 0.1, 0.6];
  /** Log-probs and entropies of three tokens over five words, whose logits are numbers(15, 1). */
  const judged = rows.map((_, row) => {
    const logits = [...numbers(15, 1).subarray(row * 5, row * 5 + 5)];
    const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
    const all = logits.map((logit) => logit - total);
    return { logProb: all[row]!, entropy: all.reduce((h, p) => h - Math.exp(p) * p, 0) };
  });
  const reference = [-1, -2.5, -1.8];

  test.each<Terms>([
    { kl: 'k3', entropy: true },
    { kl: 'k2', entropy: false },
    { kl: null, entropy: true },
  ])('add up, and their gradient reaches the logits: %j', async (terms) => {
    const graph = new Graph('float64');
    const logits = graph.input('logits', 'float64', ['M', 5]);
    const targets = graph.input('targets', 'int32', ['M']);
    const loss = withTerms(graph.scalar(7), judgeTokens(logits, targets), terms);
    graph.output('loss', loss);
    graph.output('gradient:logits', gradients(loss, [logits])[0]!);
    const session = await runner.open(graph.model(), { threads: 1 });
    const feeds = {
      logits: { shape: [3, 5], data: numbers(15, 1) },
      targets: { shape: [3], data: Int32Array.of(0, 1, 2) },
      termWeights: vector(rows),
      ...(terms.kl === null ? {} : { refLogProbs: vector(reference), klCoefficient: scalar(0.4) }),
      ...(terms.entropy ? { entropyCoefficient: scalar(0.9) } : {}),
    };
    const want = judged.reduce((sum, { logProb, entropy }, row) => {
      const kl = terms.kl === null ? 0 : 0.4 * klEstimate(terms.kl, logProb, reference[row]!);
      return sum + rows[row]! * (kl - (terms.entropy ? 0.9 * entropy : 0));
    }, 7);
    expect((await session.run(feeds)).loss!.data[0]).toBeCloseTo(want, 12);
    const { error, quietest } = await compareGradients(session, feeds, ['logits'], 15);
    expect(error).toBeLessThan(1e-8);
    expect(quietest).toBeGreaterThan(0.001);
    await session.release();
  });
});
