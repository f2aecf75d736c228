import { expect, test } from '@jest/globals';
import { csvCell } from '../../../base/text/csvCell.ts';

test.each([
  '=HYPERLINK("http://a/"&A1)',
  '+cmd|1',
  '-2+3',
  '@SUM(A1)',
  '\t=1',
  '\n=1',
  '＝1',
  '--1',
  '-',
  '-1e',
])('a CSV cell of %j is no longer a formula', (text) => {
  expect(csvCell(text)).toBe(`'${text}`);
});

test('a CSV cell shows a carriage return, and whatever else a terminal obeys, as text', () => {
  expect(csvCell('\r=1')).toBe("'\\u000d=1");
  expect(csvCell('a\u001b[2J\u202e')).toBe('a\\u001b[2J\\u202e');
});

test.each([
  -1.5,
  1e-7,
  -1e21,
  0,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
  '-3',
  '+4.5e-3',
  '-.5',
  'a=b',
  '',
  'x\ny',
])('a CSV cell of %j stays as it is', (value) => {
  expect(csvCell(value)).toBe(String(value));
});
