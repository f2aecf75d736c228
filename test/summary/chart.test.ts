import { describe, expect, it } from '@jest/globals';
import type { Point } from '../../summary/curves.ts';
import { ticks, wholeTicks } from '../../summary/format/ticks.ts';
import { chart } from '../../summary/html/chart.ts';
import { movingMean } from '../../summary/html/movingMean.ts';

const points = (values: readonly number[], from = 1): Point[] =>
  values.map((y, i) => ({ x: from + i, y }));
const draw = (values: readonly number[], over: object = {}) =>
  chart({
    title: 'Reward',
    series: [{ name: 'Reward', points: points(values) }],
    show: String,
    steps: [0, 60],
    ...over,
  }).markup;

describe('a chart', () => {
  it('shows the whole run with ticks, wherever its curve begins and ends', () => {
    const ofTicks = (markup: string) =>
      [...markup.matchAll(/text-anchor="middle">(?:step )?(\d+)</g)].map(([, step]) => step);
    expect(ofTicks(draw([1, 2, 3]))).toEqual(['0', '20', '40', '60']);
    expect(ofTicks(draw([5]))).toEqual(['0', '20', '40', '60']);
  });

  it('shows without a script the value under the pointer, or else the last one', () => {
    const markup = draw([0.25, 0.5, 0.75]);
    const told = [...markup.matchAll(/<g class="at"><rect .*?<text [^>]*>([^<]*)</gs)];
    expect(told.map(([, text]) => text)).toEqual([
      'step 1 · 0.25',
      'step 2 · 0.5',
      'step 3 · 0.75',
    ]);
    expect(markup).toMatch(/class="rest"[^>]*>step 3 · 0\.75</);
    expect(markup).not.toContain('<script');
  });

  it('shows the values of all curves by name', () => {
    const series = [
      { name: 'training', points: points([1, 2]) },
      { name: 'held-out', points: [{ x: 2, y: 7, low: 5, high: 9 }], dots: true },
    ];
    const markup = draw([], { series });
    expect(markup).toContain('>step 2 · training 2 · held-out 7<');
    expect(markup).toContain('>step 1 · training 1<');
    expect(markup).toMatch(/<line class="interval"/);
  });

  it('has a bounded size, however many steps there were', () => {
    const markup = draw(
      Array.from({ length: 20_000 }, (_, i) => i % 7),
      { steps: [0, 20_000] },
    );
    expect(markup.match(/class="at"/g)!.length).toBeLessThanOrEqual(121);
    expect(markup.length).toBeLessThan(100_000);
  });

  it('draws a noisy curve faint with a strong mean, and a smooth one as it is', () => {
    const noisy = Array.from({ length: 40 }, (_, i) => i % 2);
    expect(draw(noisy).match(/<polyline/g)).toHaveLength(2);
    expect(draw(noisy)).toContain('<polyline class="raw"');
    const exact = [{ name: 'rate', points: points(noisy), exact: true }];
    expect(draw([], { series: exact })).not.toContain('class="raw"');
    expect(draw([1, 2, 3])).not.toContain('class="raw"');
  });
});

describe('a moving mean', () => {
  it('leaves a straight line as it is, ends included', () => {
    const line = points(Array.from({ length: 50 }, (_, i) => 2 * i));
    expect(movingMean(line)!.map(({ y }) => y)).toEqual(line.map(({ y }) => y));
  });

  it('is near the middle of an oscillation', () => {
    const swinging = points(Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? 0 : 1)));
    const middle = movingMean(swinging)!.slice(5, -5);
    for (const { y } of middle) expect(Math.abs(y - 0.5)).toBeLessThan(0.06);
  });

  it('is absent for few points', () => {
    expect(movingMean(points([1, 2, 3]))).toBeNull();
  });
});

it('ticks of an axis are round and few', () => {
  expect(ticks(0, 1)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(wholeTicks(0, 57)).toEqual([0, 20, 40]);
  expect(wholeTicks(0, 3)).toEqual([0, 1, 2, 3]);
  expect(wholeTicks(0, 1)).toEqual([0, 1]);
  expect(wholeTicks(0, 0)).toEqual([0]);
  for (const last of [7, 10, 99, 1234, 99_999]) {
    expect(wholeTicks(0, last).length).toBeLessThanOrEqual(6);
    expect(wholeTicks(0, last).length).toBeGreaterThanOrEqual(3);
  }
});
