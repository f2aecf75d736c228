/** The order of rows in tables that are sorted by a column. */
import { describe, expect, test } from '@jest/globals';
import { sortedBy } from '../../../page/browser/logic/sorted.ts';

const rows = [
  { name: 'run-10', value: 1 },
  { name: 'run-9', value: null },
  { name: 'Run-2', value: 3 },
];
const columns = {
  name: (row: (typeof rows)[number]) => row.name,
  value: (row: (typeof rows)[number]) => row.value,
};
const names = (sort: string): string[] => sortedBy(rows, columns, sort).map(({ name }) => name);

describe('rows', () => {
  test('are in natural order by a name', () => {
    expect(names('name')).toEqual(['Run-2', 'run-9', 'run-10']);
    expect(names('-name')).toEqual(['run-10', 'run-9', 'Run-2']);
  });

  test('without a value come last, whichever way a column is sorted', () => {
    expect(names('value')).toEqual(['run-10', 'Run-2', 'run-9']);
    expect(names('-value')).toEqual(['Run-2', 'run-10', 'run-9']);
  });

  test('stay as they are without a column, or by one that there is not', () => {
    expect(names('')).toEqual(rows.map(({ name }) => name));
    expect(names('-constructor')).toEqual(rows.map(({ name }) => name));
  });
});
