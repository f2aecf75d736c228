import { afterAll, describe, expect, test } from '@jest/globals';
import type { NamedLoss } from '../../../model/losses/losses.ts';
import { gspoLoss, gspoTokenLoss, sequenceRatios } from '../../oracles/gspo.ts';
import { slopes } from '../../oracles/slopes.ts';
import { lossGraphs } from '../../support/lossGraph.ts';
import { worstError } from '../vectors.ts';
import { example } from './examples.ts';

const graphs = lossGraphs();
afterAll(() => graphs.close());

describe.each([
  { clipLow: 3e-4, clipHigh: 4e-4, spread: 6e-4 },
  { clipLow: 0.2, clipHigh: 0.28, spread: 0.6 },
  { clipLow: 0.2, clipHigh: 0.28, spread: 0.1 },
])('GSPO, %j', ({ spread, ...bounds }) => {
  const loss = { name: 'gspo', settings: bounds } satisfies NamedLoss;
  const given = example(`gspo ${spread}`, { spread });
  const input = { ...given, ...bounds };

  test('has value and gradient of the paper’s objective', async () => {
    const got = await graphs.run(loss, given);
    expect(worstError([got.loss], [gspoLoss(input)])).toBeLessThan(1e-9);
    const moved = (logProbs: typeof given.logProbs) => gspoLoss({ ...input, logProbs });
    const want = slopes(moved, given.logProbs, given.mask, 1e-7);
    expect(worstError(got.gradient.flat(), want.flat())).toBeLessThan(1e-7);
  });

  test('is GSPO-token if the tokens of a response have their own advantages', async () => {
    const mixed = example(`gspo ${spread}`, { spread, perToken: true });
    const of = { ...mixed, ...bounds };
    const got = await graphs.run(loss, mixed);
    expect(worstError([got.loss], [gspoTokenLoss(of)])).toBeLessThan(1e-9);
    const moved = (logProbs: typeof mixed.logProbs) => gspoTokenLoss({ ...of, logProbs }, of);
    const want = slopes(moved, mixed.logProbs, mixed.mask, 1e-7);
    expect(worstError(got.gradient.flat(), want.flat())).toBeLessThan(1e-7);
  });

  test('clips whole responses, and counts their tokens', async () => {
    const { gradient, numbers } = await graphs.run(loss, given);
    let clipped = 0;
    for (const [i, ratio] of sequenceRatios(input).entries()) {
      const advantage = given.advantages[i]![0]!;
      const out = advantage > 0 ? ratio > 1 + bounds.clipHigh : ratio < 1 - bounds.clipLow;
      const own = gradient[i]!.filter((_, t) => given.mask[i]![t] === 1);
      expect(own.every((slope) => (slope === 0) === out)).toBe(true);
      if (out) clipped += own.length;
    }
    expect(numbers['clip/fraction']).toBeCloseTo(clipped / 23, 12);
    if (spread !== 0.1) expect(clipped).toBeGreaterThan(0);
  });

  test('adds up over micro-batches', async () => {
    const whole = await graphs.run(loss, given);
    const parts = await graphs.run(loss, given, [[4, 1], [0], [5, 2, 3]]);
    expect(parts.loss).toBeCloseTo(whole.loss, 12);
    expect(worstError(parts.gradient.flat(), whole.gradient.flat())).toBeLessThan(1e-12);
    for (const [name, value] of Object.entries(whole.numbers)) {
      expect(parts.numbers[name]).toBeCloseTo(value, 12);
    }
  });
});

test('GSPO skips a response without targets', async () => {
  const given = example('gspo empty', { spread: 0.1 });
  const mask = given.mask.map((row, i) => (i === 2 ? row.map(() => 0) : row));
  const { loss, gradient } = await graphs.run({ name: 'gspo' }, { ...given, mask });
  expect(Number.isFinite(loss)).toBe(true);
  expect(gradient.flat().every(Number.isFinite)).toBe(true);
});

test('GSPO at the policy that sampled has the gradient of the clipped loss by sequences', async () => {
  const given = example('on policy', { spread: 0, perToken: true });
  const settings = { aggregation: 'seq-mean-token-mean' };
  const [gspo, clipped] = [
    await graphs.run({ name: 'gspo' }, given),
    await graphs.run({ name: 'clipped', settings }, given),
  ];
  expect(worstError(gspo.gradient.flat(), clipped.gradient.flat())).toBeLessThan(1e-12);
});
