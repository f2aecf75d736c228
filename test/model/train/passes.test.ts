/** Passes over arrays, against the same arithmetic written number by number. */
import { expect, test } from '@jest/globals';
import { adamW, jointNorm } from '../../../model/train/adamw.ts';
import { addTo, sumOfSquares } from '../../../model/train/passes.ts';

/** Around one stride of a loop, and around one and two pieces. */
const LENGTHS = [0, 1, 3, 4, 7, 8, 9, 1000, 32_767, 32_768, 32_769, 65_541];

/** Numbers of many sizes and both signs. */
function numbers(length: number, seed: number): Float32Array {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) / 2 ** 24;
  };
  return Float32Array.from({ length }, () => (next() - 0.5) * 10 ** Math.floor(-8 * next()));
}

const { fround } = Math;

const bits = (array: Float32Array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);

test.each(LENGTHS)('a vectorised sum of %d numbers has the bits of the plain loop', (length) => {
  const [sum, part] = [numbers(length, 1), numbers(length, 2)];
  const want = sum.map((value, index) => value + (part[index] as number));
  addTo(sum, part);
  expect(bits(sum).equals(bits(want))).toBe(true);
});

test.each(LENGTHS)('the sum of squares of %d numbers is exact', (length) => {
  sumOfSquares(numbers(65_536, 9)); // what an earlier call left is not counted
  const x = numbers(length, 3);
  const want = x.reduce((sum, value) => sum + value * value, 0);
  expect(Math.abs(sumOfSquares(x) - want)).toBeLessThanOrEqual(1e-12 * want);
});

test('squares larger than a float32 are summed', () => {
  expect(jointNorm([new Float32Array(9).fill(1e30)]) / (3 * fround(1e30))).toBeCloseTo(1, 12);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
  'a single %d shows in the norm wherever it stands',
  (value) => {
    for (const place of [0, 5, 32_768, 32_770]) {
      const x = numbers(32_771, 4);
      x[place] = value;
      expect(Number.isFinite(jointNorm([numbers(9, 5), x]))).toBe(false);
    }
  },
);

test.each(LENGTHS)('vectorised AdamW of %d numbers has the bits of the plain loop', (length) => {
  const settings = { beta1: 0.9, beta2: 0.999, eps: 1e-8, weightDecay: 0.01 };
  const [parameter, mean, square] = [
    numbers(length, 6),
    new Float32Array(length),
    new Float32Array(length),
  ];
  const want = { parameter: parameter.slice(), mean: mean.slice(), square: square.slice() };
  for (let step = 1; step <= 3; step++) {
    const gradient = numbers(length, 7 + step);
    const before = gradient.slice();
    const rates = { lr: 1e-3, step, scale: 0.3 };
    adamW(parameter, gradient, { mean, square }, settings, rates);
    slowly(want, gradient, settings, rates);
    expect(bits(gradient).equals(bits(before))).toBe(true);
  }
  expect(bits(parameter).equals(bits(want.parameter))).toBe(true);
  expect(bits(mean).equals(bits(want.mean))).toBe(true);
  expect(bits(square).equals(bits(want.square))).toBe(true);
});

function slowly(
  { parameter, mean, square }: Record<'parameter' | 'mean' | 'square', Float32Array>,
  gradient: Float32Array,
  { beta1, beta2, eps, weightDecay }: Record<'beta1' | 'beta2' | 'eps' | 'weightDecay', number>,
  { lr, step, scale }: Record<'lr' | 'step' | 'scale', number>,
) {
  const times = (a: number, b: number) => fround(fround(a) * fround(b));
  for (const [i, value] of parameter.entries()) {
    const g = times(gradient[i] as number, scale);
    mean[i] = times(beta1, mean[i] as number) + times(1 - beta1, g);
    square[i] = times(beta2, square[i] as number) + times(times(1 - beta2, g), g);
    const size = times(fround(Math.sqrt(square[i] as number)), 1 / Math.sqrt(1 - beta2 ** step));
    const step1 = times(lr / (1 - beta1 ** step), mean[i] as number);
    const moved = fround(step1 / fround(size + fround(eps)));
    parameter[i] = value - fround(times(lr * weightDecay, value) + moved);
  }
}
