import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { partitionedFiles } from '../../../sinks/tables/partitioned.ts';
import type { Stored } from '../../../streams/log.ts';
import { temporaryFolder } from '../../support/folder.ts';

let folder = temporaryFolder();
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

test('a partitioned export has few files open at a time, and starts another for a value that comes back', () => {
  const written = new Map<string, number[]>();
  let open = 0;
  let most = 0;
  const files = partitionedFiles({
    folder: folder.path,
    field: 'f',
    extension: 'x',
    value: ({ value }) => (value === 0 ? null : `a/${value}`),
    open: (path) => {
      const rows: number[] = [];
      written.set(path.slice(folder.path.length + 1), rows);
      most = Math.max(most, ++open);
      return { add: ({ value }) => void rows.push(value as number), finish: () => void open-- };
    },
  });
  const values = [...Array(12).keys(), 1, 1, 11, 1];
  for (const value of values) files.add({ value } as Stored<unknown>);
  files.finish();
  expect({ open, most }).toEqual({ open: 0, most: 8 });
  expect([...written.values()].flat().sort()).toEqual([...values].sort());
  expect(written.get('f=a%2F1/0.x')).toEqual([1]);
  expect(written.get('f=a%2F1/1.x')).toEqual([1, 1, 1]);
  expect(written.get('f=a%2F11/0.x')).toEqual([11, 11]);
  expect(readdirSync(folder.path)).toContain('f=__HIVE_DEFAULT_PARTITION__');
});
