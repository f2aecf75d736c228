/** What is taken for a malformed record, besides the parser that reads the others. */
import { expect, it } from '@jest/globals';
import { parseString } from 'fast-csv';
import { draws } from '../../base/draws.ts';
import { isMalformed } from '../../sources/csvQuotes.ts';

/** Rows, or null where the parser refuses. */
function rowsOf(text: string): Promise<readonly string[][] | null> {
  return new Promise((resolve) => {
    const rows: string[][] = [];
    parseString<string[], string[]>(text, { headers: false })
      .on('data', (row: string[]) => rows.push(row))
      .on('error', () => resolve(null))
      .on('end', () => resolve(rows));
  });
}

it('a malformed record is one that the CSV parser refuses, or reads as several records', async () => {
  const letters = ['"', '"', ',', 'a', ' ', '\t', '\n', '""', '",', ',"'];
  let [refused, read] = [0, 0];
  for (let i = 0; i < 4_000; i++) {
    const stream = draws('csv', i);
    const length = 1 + stream.integer(0, 12);
    const inner = Array.from(
      { length },
      (_, at) => letters[stream.integer(at + 1, letters.length)],
    );
    const text = `x,${inner.join('')},z`; // a record ends with no empty line
    const rows = await rowsOf(text);
    const whole = rows?.length === 1;
    if (isMalformed(text) !== !whole)
      throw new Error(`${JSON.stringify(text)}: ${JSON.stringify(rows)}`);
    if (whole) read++;
    else refused++;
  }
  expect(Math.min(refused, read)).toBeGreaterThan(500);
});
