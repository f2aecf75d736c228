import { afterAll, describe, expect, test } from '@jest/globals';
import type { NamedLoss } from '../../../model/losses/losses.ts';
import { cispoHeld, cispoLoss } from '../../oracles/cispo.ts';
import { slopes } from '../../oracles/slopes.ts';
import { lossGraphs } from '../../support/lossGraph.ts';
import { worstError } from '../vectors.ts';
import { example } from './examples.ts';

const graphs = lossGraphs();
afterAll(() => graphs.close());

describe.each([
  { clipLow: 1, clipHigh: 4, spread: 2.5 },
  { clipLow: 0.2, clipHigh: 0.28, spread: 0.6 },
  { clipLow: 0.5, clipHigh: 0.1, spread: 0.05 },
])('CISPO, %j', ({ spread, ...bounds }) => {
  const given = example(`cispo ${spread}`, { spread, perToken: true });
  const input = { ...given, ...bounds };
  const loss = { name: 'cispo', settings: bounds } satisfies NamedLoss;

  test('has the value, the gradient and the clipped share of a plain implementation', async () => {
    const got = await graphs.run(loss, given);
    expect(worstError([got.loss], [cispoLoss(input)])).toBeLessThan(1e-9);
    const moved = (logProbs: typeof given.logProbs) =>
      cispoLoss({ ...input, logProbs }, given.logProbs);
    const want = slopes(moved, given.logProbs, given.mask);
    expect(worstError(got.gradient.flat(), want.flat())).toBeLessThan(1e-8);
    expect(got.numbers['clip/fraction']).toBeCloseTo(cispoHeld(input), 12);
  });

  test('gives every token a gradient, those outside the bounds too', async () => {
    const { gradient, numbers } = await graphs.run(loss, given);
    const silent = gradient
      .flat()
      .filter((slope, at) => given.mask.flat()[at] === 1 && slope === 0);
    expect(silent).toEqual([]);
    if (spread > 0.5) expect(numbers['clip/fraction']).toBeGreaterThan(0);
  });

  test('adds up over micro-batches', async () => {
    const whole = await graphs.run(loss, given);
    const parts = await graphs.run(loss, given, [[4, 1], [0], [5, 2, 3]]);
    expect(parts.loss).toBeCloseTo(whole.loss, 12);
    expect(worstError(parts.gradient.flat(), whole.gradient.flat())).toBeLessThan(1e-12);
    expect(parts.numbers['clip/fraction']).toBeCloseTo(whole.numbers['clip/fraction']!, 12);
  });
});

test('CISPO at the policy that sampled has the gradient of the clipped loss', async () => {
  const given = example('on policy', { spread: 0, perToken: true });
  const [cispo, clipped] = [
    await graphs.run({ name: 'cispo' }, given),
    await graphs.run({ name: 'clipped' }, given),
  ];
  expect(worstError(cispo.gradient.flat(), clipped.gradient.flat())).toBeLessThan(1e-12);
});

test('CISPO scales tokens by importance weights, and has the terms of every policy loss', async () => {
  const given = example('cispo terms', { spread: 0.4 });
  const refLogProbs = given.oldLogProbs.map((row) => row.map((value) => value - 0.5));
  const importance = given.mask.map((row) => row.map(() => 3));
  const plain = await graphs.run({ name: 'cispo' }, given);
  const tripled = await graphs.run({ name: 'cispo' }, { ...given, importance });
  expect(tripled.loss).toBeCloseTo(3 * plain.loss, 10);
  const settings = { kl: { kind: 'k1', coefficient: 0.5 } } as const;
  const on = { ...given, logProbs: given.oldLogProbs };
  const base = await graphs.run({ name: 'cispo' }, on);
  const penalised = await graphs.run({ name: 'cispo', settings }, { ...on, refLogProbs });
  expect(penalised.loss - base.loss).toBeCloseTo(0.5 * 0.5, 7);
});
