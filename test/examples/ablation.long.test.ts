/** The ablation: its cells, and a table of means, intervals and differences over the seeds that are there. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cellsOf, keep, keptOf } from '../../examples/quickstart/ablationCells.ts';
import { ablationTable, type Outcome, variants } from '../../examples/quickstart/ablationTable.ts';
import { estimate, estimateText } from '../../examples/quickstart/estimate.ts';
import { temporaryFolder } from '../support/folder.ts';

const outcome = (name: string, seed: number, ...accuracies: readonly number[]): Outcome => ({
  name,
  seed,
  evaluations: accuracies.map((accuracy) => ({ accuracy, efficiency: accuracy / 2, calls: 2 })),
});

test('an ablation gives a mean its Student interval from two values on', () => {
  expect(estimate([0.5])).toEqual({ mean: 0.5, half: null });
  // s = 1, t(2) = 4.303.
  const { mean, half } = estimate([1, 2, 3]);
  expect([mean, half]).toEqual([2, expect.closeTo(4.303 / Math.sqrt(3), 10)]);
  expect(estimate(Array.from({ length: 40 }, (_, i) => i % 2)).half).toBeCloseTo(
    (2.086 * Math.sqrt(10 / 39)) / Math.sqrt(40),
  );
  const percent = (value: number): string => (100 * value).toFixed(1);
  expect(estimateText({ mean: 0.712, half: 0.034 }, percent)).toBe('71.2 ± 3.4');
  expect(estimateText({ mean: 0.712, half: null }, percent)).toBe('71.2');
});

test('a row of an ablation is the mean of its seeds, and its difference pairs seeds with the whole method', () => {
  const rows = ablationTable([
    outcome('whole', 1, 0.3, 0.5, 0.6, 0.7),
    outcome('no-pareto', 1, 0.3, 0.5, 0.6, 0.68),
    outcome('whole', 2, 0.2, 0.4, 0.5, 0.6),
    outcome('no-pareto', 2, 0.2, 0.4, 0.5, 0.54),
    outcome('no-pareto', 3, 0.2, 0.4, 0.5, 0.9),
  ]);
  const row = (what: string) => rows.find((one) => one.what === what)!;
  expect(rows.map(({ what }) => what)).toEqual([
    'base',
    '+ fine-tuning',
    '+ calibration (the whole method)',
    'without Pareto sampling',
  ]);
  expect(row('base').accuracy.mean).toBeCloseTo(0.25);
  expect(row('+ calibration (the whole method)')).toMatchObject({
    difference: null,
    seeds: [1, 2],
  });
  const pareto = row('without Pareto sampling');
  expect(pareto.seeds).toEqual([1, 2, 3]);
  expect(pareto.accuracy.mean).toBeCloseTo(2.12 / 3);
  expect(pareto.difference!.mean).toBeCloseTo(-0.04);
  expect(pareto.difference!.half).toBeCloseTo((12.706 * 0.02 * Math.SQRT2) / Math.SQRT2);
});

test('every row of an ablation is made of existing variants', () => {
  const every = variants.map(({ name }) => outcome(name, 1, 0.1, 0.2, 0.3));
  expect(ablationTable(every)).toHaveLength(9);
  expect(ablationTable([])).toEqual([]);
});

test('cells of an ablation come seed by seed, and a finished one is known by its settings', async () => {
  const options = { world: 'hard', seeds: [3, 1], only: null, set: [] } as const;
  const cells = cellsOf(options);
  expect(cells.map(({ seed }) => seed)).toEqual([...Array(6).fill(3), ...Array(6).fill(1)]);
  expect(cells[0]!.run).toBe('ablation-hard-whole-3');
  expect(cells[0]!.settings).toContain('world: hard');
  const folder = temporaryFolder();
  const { evaluations } = outcome('whole', 3, 0.3, 0.7);
  await mkdir(join(folder.path, cells[0]!.run));
  expect(await keptOf(folder.path, cells[0]!)).toBeNull();
  await keep(folder.path, cells[0]!, evaluations);
  expect(await keptOf(folder.path, cellsOf(options)[0]!)).toEqual(evaluations);
  expect(await keptOf(folder.path, cells[1]!)).toBeNull();
  expect(await keptOf(folder.path, cellsOf({ ...options, set: ['rounds=1'] })[0]!)).toBeNull();
  expect(await keptOf(folder.path, { ...cells[0]!, settings: 'keep: 1' })).toBeNull();
  folder.remove();
});
