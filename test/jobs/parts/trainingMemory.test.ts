import { describe, expect, test } from '@jest/globals';
import { SHAPES } from '../../../bench/memory/shapes.ts';
import { parameterCount } from '../../../jobs/parts/memory.ts';
import { largestPart, type Training, trainingMemory } from '../../../jobs/parts/trainingMemory.ts';
import type { DecoderConfig } from '../../../model/config.ts';

const peakOf = (config: DecoderConfig, training: Training, rows: number, length: number): number =>
  trainingMemory(config, parameterCount(config), training, { rows, length }) / 2 ** 20;

/** Peak MiB of a process, two steps of `clipped` on 4 sequences of 512 tokens (npm run bench:memory). */
const MEASURED: readonly (readonly [keyof typeof SHAPES, rows: number, Training, number])[] = [
  ['20M', 3, { kind: 'full', recompute: false }, 1664],
  ['135M', 1, { kind: 'full', recompute: false }, 4713],
  ['362M', 1, { kind: 'full', recompute: false }, 11_806],
  ['20M', 3, { kind: 'adapter', recompute: false }, 1292],
  ['135M', 1, { kind: 'adapter', recompute: false }, 2009],
  ['362M', 1, { kind: 'adapter', recompute: false }, 3599],
  ['135M', 1, { kind: 'merged', recompute: false }, 2342],
  ['362M', 1, { kind: 'merged', recompute: false }, 4737],
  ['135M', 1, { kind: 'full', recompute: true }, 4092],
  ['20M', 3, { kind: 'adapter', recompute: true }, 906],
];

describe('the memory that training takes', () => {
  test.each(MEASURED)(
    'is that of a measured process within 15 %%: %s, %i rows, %o',
    (shape, rows, training, peak) => {
      const config = SHAPES[shape];
      expect(largestPart(config, 512)).toEqual({ rows, length: 512 });
      expect(peakOf(config, training, rows, 512) / peak).toBeGreaterThan(0.85);
      expect(peakOf(config, training, rows, 512) / peak).toBeLessThan(1.15);
    },
  );

  test('grows with the square of a sequence that is longer than a micro-batch', () => {
    const config = SHAPES['135M'];
    const full = { kind: 'full', recompute: false } as const;
    expect(largestPart(config, 4096)).toEqual({ rows: 1, length: 4096 });
    const [one, two, four] = [2048, 4096, 8192].map((length) => peakOf(config, full, 1, length));
    expect((four! - two!) / (two! - one!)).toBeGreaterThan(3);
  });
});
