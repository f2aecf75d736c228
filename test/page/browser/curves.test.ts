/** Curves on the page: values that come in, buckets that merge, smoothing, lines over one axis. */
import { describe, expect, test } from '@jest/globals';
import { thousands } from '../../../base/text/counted.ts';
import { curveSentence, short, tickTexts } from '../../../page/browser/logic/format.ts';
import { joined, linesMax, pointsMax, strokeOf } from '../../../page/browser/logic/lines.ts';
import {
  bucketNote,
  emptySeries,
  merged,
  type Value,
  withValues,
} from '../../../page/browser/logic/series.ts';
import { smoothed, smoothMin } from '../../../page/browser/logic/smooth.ts';

const values = (numbers: readonly (number | null)[]): Value[] =>
  numbers.map((value, step) => [step, 1000 * step, 10 * step, value]);

/** Deterministic and uneven. */
const wave = (i: number): number => Math.sin(i * 12.9898) * 43.5;

describe('a series', () => {
  test('is extended by single values; infinite ones are counted and not drawn', () => {
    const series = withValues(emptySeries('r', 'loss'), values([1, null, 3]), 'step');
    expect(series).toMatchObject({
      x: [0, 2],
      mean: [1, 3],
      odd: 1,
      oddSteps: [1],
      shown: 2,
      total: 2,
    });
  });

  test('never has more points than a chart draws, keeps every peak, and counts every value', () => {
    const all = values(Array.from({ length: 10_000 }, (_, i) => (i === 7777 ? 999 : wave(i))));
    let series = emptySeries('r', 'loss');
    for (let i = 0; i < all.length; i += 97)
      series = withValues(series, all.slice(i, i + 97), 'step');
    expect(series.x.length).toBeLessThanOrEqual(pointsMax);
    expect(Math.max(...series.max)).toBe(999);
    expect(series.count.reduce((sum, n) => sum + n, 0)).toBe(10_000);
  });

  test('holds in each bucket what a plain count finds', () => {
    const all = values(Array.from({ length: 5000 }, (_, i) => wave(i)));
    const series = withValues(emptySeries('r', 'loss'), all, 'step');
    series.step.forEach((first, i) => {
      const bucket = Math.floor(first / series.width);
      const inside = all
        .filter(([step]) => Math.floor(step / series.width) === bucket)
        .map(([, , , value]) => value!);
      expect(series.min[i]).toBe(Math.min(...inside));
      expect(series.max[i]).toBe(Math.max(...inside));
      expect(series.count[i]).toBe(inside.length);
      expect(series.mean[i]).toBeCloseTo(inside.reduce((sum, v) => sum + v, 0) / inside.length, 9);
    });
  });

  test('merges to the same at once or in two halves', () => {
    const all = values(Array.from({ length: 1000 }, (_, i) => wave(i)));
    const once = merged(merged(withValues(emptySeries('r', 'a'), all, 'step')));
    const wide = { ...emptySeries('r', 'a'), width: 4 };
    const direct = withValues(wide, all, 'step');
    expect(once.step).toEqual(direct.step);
    expect(once.min).toEqual(direct.min);
    expect(once.max).toEqual(direct.max);
    expect(once.mean.map((mean) => mean.toFixed(9))).toEqual(
      direct.mean.map((mean) => mean.toFixed(9)),
    );
  });

  test('says what a point means', () => {
    expect(bucketNote([emptySeries('r', 'a')])).toBeUndefined();
    const wide = { ...emptySeries('r', 'a'), width: 4, count: [4, 4] };
    expect(bucketNote([wide])).toBe('each point covers up to 4 steps; band = lowest to highest');
  });
});

describe('smoothing', () => {
  test('leaves few points, and gaps, as they are', () => {
    expect(smoothed([1, 2, 3], 0.9)).toEqual([1, 2, 3]);
    const long = Array.from({ length: smoothMin + 1 }, (_, i) => (i === 5 ? null : 2));
    smoothed(long, 0.9).forEach((value, i) => {
      if (i === 5) expect(value).toBeNull();
      else expect(value).toBeCloseTo(2, 9);
    });
  });
});

describe('lines of a chart', () => {
  test('share one axis over different steps, with undefined for no point and null for a gap', () => {
    expect(
      joined([
        { xs: [1, 3], ys: [10, null] },
        { xs: [2, 3], ys: [20, 30] },
      ]),
    ).toEqual([
      [1, 2, 3],
      [10, undefined, null],
      [undefined, 20, 30],
    ]);
  });

  test('differ by dashes as well as by colour', () => {
    const strokes = Array.from({ length: linesMax }, (_, i) => JSON.stringify(strokeOf(i).dash));
    expect(new Set(strokes).size).toBe(linesMax);
  });
});

describe('the text of a chart', () => {
  test('describes a curve in one sentence', () => {
    expect(curveSentence('reward/mean', [0, 92, 184], [0.21, 0.5, 0.61])).toBe(
      'reward/mean rose from 0.21 to 0.61 in 184 steps, between 0.21 and 0.61',
    );
    expect(curveSentence('loss', [], [])).toBe('loss has no values yet');
  });

  test('writes counts', () => {
    expect([thousands(48210), thousands(7), thousands(1234567)]).toEqual([
      '48,210',
      '7',
      '1,234,567',
    ]);
    expect([short(950), short(1900), short(48_210), short(3.1e6)]).toEqual([
      '950',
      '1.9k',
      '48k',
      '3.1M',
    ]);
  });
});

test('has distinct values along an axis', () => {
  expect(tickTexts([0, 0.25, 0.5])).toEqual(['0.00', '0.25', '0.50']);
  expect(tickTexts([-0.1, -0, 0.1])).toEqual(['−0.1', '0.0', '0.1']);
  expect(tickTexts([0.06, 0.065, 0.07])).toEqual(['0.060', '0.065', '0.070']);
  expect(tickTexts([-1.9e-4, -1.875e-4, -1.85e-4])).toEqual(['−1.90e-4', '−1.88e-4', '−1.85e-4']);
  expect(tickTexts([0, 5e-5, 1e-4])).toEqual(['0', '5.0e-5', '1.0e-4']);
  expect(tickTexts([1e6, 2e6])).toEqual(['1.0M', '2.0M']);
  expect(tickTexts([0, 20_000])).toEqual(['0', '20,000']);
});
