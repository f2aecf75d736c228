import { afterAll, expect, test } from '@jest/globals';
import type { NamedLoss } from '../../../model/losses/losses.ts';
import type { Aggregation } from '../../../model/losses/parts/tokenWeights.ts';
import { lossGraphs, widthFactor } from '../../support/lossGraph.ts';
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

const graphs = lossGraphs();
afterAll(() => graphs.close());

/** Loss and gradient of the masked tokens. */
function run(args: Args, clipping = false) {
  const { clipLow, clipHigh, clipC, aggregation } = args;
  const settings = { clipLow, clipHigh, clipC, aggregation, aepo: { clipping } };
  return graphs.run({ name: 'clipped', settings } satisfies NamedLoss, args);
}

/**
 * The reference divides by zero where a sequence has no target and means are taken by sequence; we count it
 * as 0.
 */
function hasEmptySequence({ mask, aggregation }: Args): boolean {
  return aggregation === 'seq-mean-token-mean' && mask.some((row) => !row.includes(1));
}

interface Want {
  readonly loss: number | string;
  readonly clipFraction: number;
  readonly klApprox: number;
}
const losses = readVectors<Args, Want>('policy-loss');
const whole = losses.cases.filter(({ args }) => !hasEmptySequence(args));
const partly = losses.cases.filter(({ args }) => hasEmptySequence(args));

test.each(whole)(
  'the clipped loss and its metrics equal the reference: $id',
  async ({ args, expect: want }) => {
    const { loss, numbers } = await run(args);
    const theirs = Number(want.loss) * widthFactor(args.mask, args.aggregation);
    expect(worstError([loss], [theirs])).toBeLessThanOrEqual(losses.tolerance);
    const got = [numbers['clip/fraction']!, numbers['kl/behaviour']!];
    // the reference guards its means with 1e-8
    expect(worstError(got, [want.clipFraction, want.klApprox])).toBeLessThanOrEqual(1e-7);
  },
);

test.each(partly)(
  'a sequence without targets keeps the clipped loss finite: $id',
  async ({ args, expect: want }) => {
    expect(want.loss).toBe('NaN');
    expect(Number.isFinite((await run(args)).loss)).toBe(true);
  },
);

const slopes = readVectors<Args, { readonly loss: number; readonly gradient: Matrix }>(
  'arpo-loss-gradient',
);
test.each(slopes.cases.filter(({ args }) => !hasEmptySequence(args)))(
  'the gradient of the clipped loss by log-prob equals the reference: $id',
  async ({ args, expect: want }) => {
    const { loss, gradient } = await run(args);
    expect(worstError([loss], [want.loss])).toBeLessThan(slopes.tolerance);
    expect(worstError(gradient.flat(), want.gradient.flat())).toBeLessThan(slopes.tolerance);
  },
);

const balanced = readVectors<Args, { readonly loss: number; readonly gradient: Matrix }>(
  'aepo-loss',
);
test.each(balanced.cases.filter(({ args }) => !hasEmptySequence(args)))(
  'entropy-balanced clipping has the reference gradient: $id',
  async ({ args, expect: want }) => {
    const { loss, gradient } = await run(args, true);
    expect(worstError([loss], [want.loss])).toBeLessThan(balanced.tolerance);
    expect(worstError(gradient.flat(), want.gradient.flat())).toBeLessThan(balanced.tolerance);
  },
);

test('a clipped or capped token passes no gradient, any other that of -A * ratio', async () => {
  const input = {
    logProbs: [[-1, -1, -1, -1, -1]],
    oldLogProbs: [[-1.1, -2, -0.5, -3, -1]],
    advantages: [[1, 1, -1, -1, -2]],
    mask: [[1, 1, 1, 1, 1]],
  };
  const loss = { name: 'clipped', settings: { aggregation: 'seq-mean-token-sum-norm' } };
  const gradient = (await graphs.run(loss, input)).gradient[0]!;
  // A > 0 above the range, A < 0 below it, A < 0 beyond c: no gradient
  expect(gradient.map((value) => value !== 0)).toEqual([true, false, false, false, true]);
  expect(gradient[0]).toBeCloseTo(-0.2 * Math.exp(0.1), 12);
});
