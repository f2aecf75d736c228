import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Aggregation } from '../../../model/engine.ts';
import { gradients } from '../../../model/graph/gradients.ts';
import { Graph } from '../../../model/graph/graph.ts';
import type { Session } from '../../../model/runtime/session.ts';
import { tokenWeights } from '../../../model/train/aggregation.ts';
import { clippedPolicyLoss, policyInputs } from '../../../model/train/losses.ts';
import { type GraphRunner, graphRunner } from '../runtime/graphRunner.ts';
import { readVectors, worstError } from '../vectors.ts';

type Matrix = readonly (readonly number[])[];
interface Args {
  readonly logProbs: Matrix;
  readonly oldLogProbs: Matrix;
  readonly advantages: Matrix;
  readonly mask: Matrix;
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly clipC: number;
  readonly aggregation: Aggregation;
}

let runner: GraphRunner;
let session: Session;
beforeAll(async () => {
  runner = graphRunner();
  const graph = new Graph('float64');
  const logProbs = graph.input('logProbs', 'float64', ['M']);
  const entropies = graph.input('entropies', 'float64', ['M']);
  const loss = clippedPolicyLoss(logProbs, entropies, policyInputs(logProbs));
  graph.output('loss', loss);
  graph.output('gradient', gradients(loss, [logProbs])[0]!);
  session = await runner.open(graph.model(), { threads: 1 });
});
afterAll(() => runner.close());

/** Loss and gradient of the masked tokens, the gradient put back into the matrix. */
async function run(
  args: Args,
  keepClipped = 0,
): Promise<{ loss: number; gradient: readonly number[] }> {
  const counts = args.mask.map((row) => row.reduce((sum, value) => sum + value, 0));
  const weights = tokenWeights(counts, args.aggregation, args.mask[0]!.length);
  const mask = args.mask.flat();
  const perToken = args.mask.map((row, sequence) => row.map(() => weights[sequence]!));
  const vector = (matrix: Matrix) => {
    const data = Float64Array.from(matrix.flat().filter((_, i) => mask[i] === 1));
    return { shape: [data.length], data };
  };
  const scalar = (value: number) => ({ shape: [], data: Float64Array.of(value) });
  const results = await session.run({
    logProbs: vector(args.logProbs),
    oldLogProbs: vector(args.oldLogProbs),
    advantages: vector(args.advantages),
    weights: vector(perToken),
    entropies: vector(args.logProbs),
    keepClipped: scalar(keepClipped),
    entropyWeight: scalar(0),
    ratioMin: scalar(1 - args.clipLow),
    ratioMax: scalar(1 + args.clipHigh),
    clipC: scalar(args.clipC),
  });
  let place = 0;
  const gradient = mask.map((on) => (on === 1 ? results.gradient!.data[place++]! : 0));
  return { loss: results.loss!.data[0]!, gradient };
}

/** The reference divides by zero where a sequence has no target and means are taken by sequence; we count it as 0. */
function hasEmptySequence({ mask, aggregation }: Args): boolean {
  return aggregation === 'seq-mean-token-mean' && mask.some((row) => !row.includes(1));
}

const losses = readVectors<Args, { readonly loss: number | string }>('policy-loss');
const whole = losses.cases.filter(({ args }) => !hasEmptySequence(args));
const partly = losses.cases.filter(({ args }) => hasEmptySequence(args));

test.each(whole)('the policy loss is the reference loss: $id', async ({ args, expect: want }) => {
  expect(worstError([(await run(args)).loss], [want.loss])).toBeLessThanOrEqual(losses.tolerance);
});

test.each(partly)(
  'a sequence without targets keeps the loss finite: $id',
  async ({ args, expect: want }) => {
    expect(want.loss).toBe('NaN');
    expect(Number.isFinite((await run(args)).loss)).toBe(true);
  },
);

const slopes = readVectors<Args, { readonly loss: number; readonly gradient: Matrix }>(
  'arpo-loss-gradient',
);
test.each(slopes.cases.filter(({ args }) => !hasEmptySequence(args)))(
  'the gradient by log-prob is the reference gradient: $id',
  async ({ args, expect: want }) => {
    const { loss, gradient } = await run(args);
    expect(worstError([loss], [want.loss])).toBeLessThan(slopes.tolerance);
    expect(worstError(gradient, want.gradient.flat())).toBeLessThan(slopes.tolerance);
  },
);

const balanced = readVectors<Args, { readonly loss: number; readonly gradient: Matrix }>(
  'aepo-loss',
);
test.each(balanced.cases.filter(({ args }) => !hasEmptySequence(args)))(
  'entropy-balanced clipping gives the reference gradient: $id',
  async ({ args, expect: want }) => {
    const { loss, gradient } = await run(args, 1);
    expect(worstError([loss], [want.loss])).toBeLessThan(balanced.tolerance);
    expect(worstError(gradient, want.gradient.flat())).toBeLessThan(balanced.tolerance);
  },
);
