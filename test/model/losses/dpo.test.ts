import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { gradients } from '../../../model/graph/gradients.ts';
import { Graph } from '../../../model/graph/graph.ts';
import { preferenceLoss } from '../../../model/losses/dpo.ts';
import type { Session } from '../../../model/runtime/session.ts';
import { dpoLoss, type PreferencePairs } from '../../oracles/dpo.ts';
import { compareGradients, numbers } from '../graph/finiteDifferences.ts';
import { type GraphRunner, graphRunner } from '../runtime/graphRunner.ts';
import { readVectors, worstError } from '../vectors.ts';

let runner: GraphRunner;
let session: Session;
beforeAll(async () => {
  runner = graphRunner();
  const graph = new Graph('float64');
  const logProbs = graph.input('logProbs', 'float64', ['M']);
  const loss = preferenceLoss(logProbs);
  graph.output('loss', loss);
  graph.output('gradient:logProbs', gradients(loss, [logProbs])[0]!);
  session = await runner.open(graph.model(), { threads: 1 });
});
afterAll(() => runner.close());

const vector = (data: readonly number[]) => ({
  shape: [data.length],
  data: Float64Array.from(data),
});

/** Feeds of pairs whose sequences have these numbers of tokens, chosen and rejected by turns. */
function feedsOf(
  lengths: readonly number[],
  tokens: { policy: readonly number[]; reference: readonly number[]; beta: number },
) {
  const owners = lengths.flatMap((length, row) => new Array<number>(length).fill(row));
  const pairs = Array.from({ length: lengths.length / 2 }, (_, pair) =>
    owners.map((row) => (row === 2 * pair ? 1 : row === 2 * pair + 1 ? -1 : 0)),
  );
  return {
    logProbs: vector(tokens.policy),
    refLogProbs: vector(tokens.reference),
    pairs: { shape: [pairs.length, owners.length], data: Float64Array.from(pairs.flat()) },
    weights: vector(pairs.map(() => 1 / pairs.length)),
    beta: { shape: [], data: Float64Array.of(tokens.beta) },
  };
}

const vectors = readVectors<
  PreferencePairs,
  {
    readonly loss: number;
    readonly gradients: { policyChosen: readonly number[]; policyRejected: readonly number[] };
  }
>('dpo-loss');

test.each(vectors.cases)(
  'DPO has the reference loss and gradients: $id',
  async ({ args, expect: want }) => {
    // one token a sequence: its log-prob is the sequence's
    const byTurns = (chosen: readonly number[], rejected: readonly number[]) =>
      chosen.flatMap((value, pair) => [value, rejected[pair]!]);
    const feeds = feedsOf(new Array(2 * args.policyChosen.length).fill(1), {
      policy: byTurns(args.policyChosen, args.policyRejected),
      reference: byTurns(args.refChosen, args.refRejected),
      beta: args.beta,
    });
    const results = await session.run(feeds);
    const slopes = byTurns(want.gradients.policyChosen, want.gradients.policyRejected);
    expect(worstError(results.loss!.data, [want.loss])).toBeLessThan(vectors.tolerance);
    expect(worstError(results['gradient:logProbs']!.data, slopes)).toBeLessThan(vectors.tolerance);
  },
);

test('DPO sums the log-probs of a sequence, and every token gets its gradient', async () => {
  const lengths = [3, 1, 2, 4];
  const [policy, reference] = [[...numbers(10, 1)], [...numbers(10, 2)]];
  const feeds = feedsOf(lengths, { policy, reference, beta: 0.7 });
  const sums = (values: readonly number[]) => {
    const [a, b, c, d] = [
      [0, 3],
      [3, 4],
      [4, 6],
      [6, 10],
    ].map(([from, to]) => values.slice(from, to).reduce((sum, value) => sum + value, 0));
    return { chosen: [a!, c!], rejected: [b!, d!] };
  };
  const want = dpoLoss({
    policyChosen: sums(policy).chosen,
    policyRejected: sums(policy).rejected,
    refChosen: sums(reference).chosen,
    refRejected: sums(reference).rejected,
    beta: 0.7,
  });
  const results = await session.run(feeds);
  expect(results.loss!.data[0]).toBeCloseTo(want.loss, 12);
  const [first, second] = want.gradients.policyChosen as [number, number];
  const slopes = [first, first, first, -first, second, second, -second, -second, -second, -second];
  expect(worstError(results['gradient:logProbs']!.data, slopes)).toBeLessThan(1e-12);
  const { error } = await compareGradients(session, feeds, ['logProbs'], 10);
  expect(error).toBeLessThan(1e-8);
});

test.each([9000, -9000])('DPO stays finite at a huge margin (%d)', async (margin) => {
  const feeds = feedsOf([1, 1], { policy: [margin, 0], reference: [0, 0], beta: 1 });
  const results = await session.run(feeds);
  expect(results.loss!.data[0]).toBe(Math.max(0, -margin));
  expect([...results['gradient:logProbs']!.data].map(Math.abs)).toEqual(
    margin > 0 ? [0, 0] : [1, 1],
  );
});
