import { expect, it } from '@jest/globals';
import { columns } from '../../base/terminal/columns.ts';
import { textTable } from '../../base/terminal/table.ts';
import {
  duration,
  fixed,
  orDash,
  percent,
  rate,
  signed,
  significant,
  size,
} from '../../summary/format/numbers.ts';
import { htmlTable } from '../../summary/html/table.ts';

it('numbers are formatted the same way everywhere', () => {
  expect([0.6875, 1].map((share) => percent(share))).toEqual(['68.8 %', '100.0 %']);
  expect(percent(0.125, 0)).toBe('13 %');
  expect([0, 0.04, 9.96, 1234.5].map(rate)).toEqual(['0', '0.04', '10', '1235']);
  expect([0, 0.00001234, 0.5, 123456].map(significant(3))).toEqual([
    '0',
    '1.2e-5',
    '0.5',
    '1.2e+5',
  ]);
  expect([12.34, 61, 3660, 36_060].map(duration)).toEqual([
    '12.3 s',
    '1 min 1 s',
    '1 h 1 min',
    '10 h 1 min',
  ]);
  expect([0, 1023, 1536, 3 * 2 ** 30].map(size)).toEqual(['0 B', '1023 B', '1.5 KiB', '3.0 GiB']);
  expect([1.5, -1.5].map((value) => signed(value, fixed(1)))).toEqual(['+1.5', '−1.5']);
});

it('a missing measurement is shown as a dash', () => {
  expect([0, null, undefined].map((value) => orDash(value, String))).toEqual(['0', '–', '–']);
});

it('a table has the same content as text and as escaped HTML', () => {
  const table = {
    columns: columns(['name', 'count']),
    rows: [
      ['<b>', '1'],
      ['mean', '10'],
    ],
  };
  expect(textTable(table)).toBe('name  count\n<b>       1\nmean     10');
  const { markup } = htmlTable(table, { quiet: 1 });
  expect(markup).toContain('<tr><td class="left">&lt;b&gt;</td><td class="right">1</td></tr>');
  expect(markup).toContain('<tr class="mean"><td class="left">mean</td>');
});
