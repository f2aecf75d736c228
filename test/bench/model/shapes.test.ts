/** What the policy's benchmark measures: its sizes, its work, its turns. */
import { expect, test } from '@jest/globals';
import { longTailed, prompt, trainSequences } from '../../../bench/model/sequences.ts';
import {
  cacheBytes,
  forwardFlops,
  SHAPES,
  type ShapeName,
  trainFlops,
} from '../../../bench/model/shapes.ts';
import { inTurns } from '../../../bench/model/turns.ts';
import { parameterShapes } from '../../../model/config.ts';

test.each<[ShapeName, number]>([
  ['4M', 4.0],
  ['48M', 47.6],
  ['135M', 134.5],
])('the policy called %s has %d million parameters', (name, millions) => {
  const sizes = [...parameterShapes(SHAPES[name]).values()];
  const count = sizes.reduce((sum, shape) => sum + shape.reduce((a, b) => a * b), 0);
  expect(Math.round(count / 1e5) / 10).toBe(millions);
});

test('a weight costs two operations a token, six when it is trained', () => {
  const config = SHAPES['4M'];
  const matrices = [...parameterShapes(config)].filter(
    ([name, shape]) => shape.length === 2 && !name.includes('embed'),
  );
  const weights = matrices.reduce((sum, [, [out, width]]) => sum + out! * width!, 0);
  expect(forwardFlops(config, 0)).toBe(2 * weights);
  expect(forwardFlops(config, 10) - forwardFlops(config, 0)).toBe(4 * 4 * 256 * 10);
  expect(trainFlops(config, 128)).toBe(3 * forwardFlops(config, 128));
  expect(cacheBytes(config, 511)).toBe(2 * 4 * 4 * 4 * 32 * 511);
});

test('drawn sequences and prompts are the same each time, and every token but the first is a target', () => {
  const sequences = trainSequences(SHAPES['48M'], 2, 8);
  expect(trainSequences(SHAPES['48M'], 2, 8)).toEqual(sequences);
  expect(sequences[0]!.tokens).not.toEqual(sequences[1]!.tokens);
  expect([...sequences[0]!.mask]).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 1]);
  expect(prompt(SHAPES['4M'], 'a', 5)).not.toEqual(prompt(SHAPES['4M'], 'b', 5));
});

test('drawn lengths have a long tail within their bounds', () => {
  const lengths = longTailed(1024, { median: 48, max: 447 }).toSorted((a, b) => a - b);
  expect(lengths[512]).toBeGreaterThan(40);
  expect(lengths[512]).toBeLessThan(56);
  expect(lengths[0]).toBeGreaterThanOrEqual(4);
  expect(lengths.at(-1)).toBeGreaterThan(300);
  expect(lengths.at(-1)).toBeLessThanOrEqual(447);
});

test('the sides of a benchmark take turns, and the first turn does not count', async () => {
  const calls: string[] = [];
  const side = (name: string, values: readonly number[]) => {
    let at = 0;
    return async () => {
      calls.push(name);
      return values[at++]!;
    };
  };
  const { medians } = await inTurns(3, {
    ours: side('ours', [99, 3, 1, 2]),
    theirs: side('theirs', [99, 5, 6, 4]),
  });
  expect(medians).toEqual({ ours: 2, theirs: 5 });
  expect(calls.join(' ')).toBe(Array(4).fill('ours theirs').join(' '));
});
