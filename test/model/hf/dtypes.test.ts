/** The 16-bit formats against a second, slower writing of IEEE 754 rounding. */
import { expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { narrow, widen } from '../../../model/hf/dtypes.ts';

const FORMATS = {
  F16: { fraction: 10, lowest: -14, highest: 15 },
  BF16: { fraction: 7, lowest: -126, highest: 127 },
};
type Format = keyof typeof FORMATS;

/** The number itself, rounded in float64: to a multiple of its last place, ties to the even multiple. */
function rounded(format: Format, value: number): number {
  const { fraction, lowest, highest } = FORMATS[format];
  if (!Number.isFinite(value) || value === 0) return value;
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(value))), lowest);
  const place = 2 ** (exponent - fraction);
  const multiple = value / place;
  const below = Math.floor(multiple);
  const rest = multiple - below;
  const whole = rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
  const result = Math.sign(value) * Math.abs(whole * place);
  return Math.abs(result) >= 2 ** (highest + 1)
    ? Math.sign(value) * Number.POSITIVE_INFINITY
    : result;
}

function through(format: Format, values: Float32Array): Float32Array {
  const words = new Uint16Array(values.length);
  narrow(format, values, words);
  const back = new Float32Array(values.length);
  widen(format, words, back);
  return back;
}

/** Every scale, ties and their neighbours, both signs. */
function samples(format: Format): Float32Array {
  const stream = draws('dtypes', format);
  const bits = Uint32Array.from({ length: 50_000 }, (_, i) => stream.integer(i, 2 ** 32));
  const { fraction, lowest, highest } = FORMATS[format];
  const ties: number[] = [];
  for (let exponent = lowest - fraction - 2; exponent <= highest; exponent++)
    for (const odd of [1, 3, 5, 2 ** (fraction + 1) - 1, 2 ** (fraction + 1) + 1])
      for (const nudge of [-1, 0, 1])
        ties.push(odd * 2 ** (exponent - fraction) * (1 + nudge * 2 ** -23));
  return Float32Array.from([
    ...new Float32Array(bits.buffer),
    ...ties,
    ...ties.map((x) => -x),
    0,
    -0,
  ]);
}

test.each(['F16', 'BF16'] as const)('%s rounds to the nearest, ties to even', (format) => {
  const values = samples(format).filter((value) => !Number.isNaN(value));
  const expected = Float32Array.from(values, (value) => rounded(format, value));
  const found = through(format, values);
  const wrong = values.findIndex((_, i) => !Object.is(found[i], expected[i]));
  expect(
    wrong < 0 ? null : { value: values[wrong], found: found[wrong], expected: expected[wrong] },
  ).toBeNull();
});

test.each(['F16', 'BF16'] as const)(
  'every number of %s is read back as it was written',
  (format) => {
    const words = Uint16Array.from({ length: 65536 }, (_, i) => i);
    const values = new Float32Array(words.length);
    widen(format, words, values);
    const back = new Uint16Array(words.length);
    narrow(format, values, back);
    const wrong = [...words].filter((word, i) => !Number.isNaN(values[i]!) && back[i] !== word);
    expect(wrong).toEqual([]);
  },
);

test.each(['F16', 'BF16'] as const)(
  'a NaN stays NaN in %s, even if rounding would carry over',
  (format) => {
    const nans = new Float32Array(
      Uint32Array.of(0x7fffffff, 0x7f800001, 0xffffffff, 0xff801000).buffer,
    );
    expect([...through(format, nans)].every(Number.isNaN)).toBe(true);
  },
);

test('BF16 keeps the range of float32, F16 does not', () => {
  expect([...through('F16', Float32Array.of(65519, 65520, -1e6))]).toEqual([
    65504,
    Infinity,
    -Infinity,
  ]);
  expect(through('BF16', Float32Array.of(3.4028235e38))[0]).toBe(Infinity);
  expect(Number.isFinite(through('BF16', Float32Array.of(3.38e38))[0]!)).toBe(true);
});
