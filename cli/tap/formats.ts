/** The ways to print a tap: `pretty` for eyes, `ndjson` and `csv` for other programs, `none` to look at `--stats` alone. */
import { writeToString } from 'fast-csv';
import type { Stored } from '../../streams/log.ts';
import { type Pick, withEnvelope } from './fields.ts';
import { plain } from './plain.ts';
import { pretty } from './pretty.ts';

export const formatNames = ['pretty', 'ndjson', 'csv', 'none'] as const;
export type FormatName = (typeof formatNames)[number];

/** Text of one record, its line ends included. */
export type Format = (stored: Stored<unknown>) => Promise<string> | string;

/** `pick` null = the whole record; `envelope` puts it under offset, key and time. */
export function formatOf(name: FormatName, pick: Pick | null, envelope: boolean): Format {
  const shown = (stored: Stored<unknown>): unknown => {
    if (pick !== null) return pick(stored);
    return envelope ? withEnvelope(stored) : stored.value;
  };
  switch (name) {
    case 'pretty':
      return (stored) => pretty(stored, pick === null ? stored.value : pick(stored));
    case 'ndjson':
      return (stored) => `${JSON.stringify(plain(shown(stored)))}\n`;
    case 'csv':
      return csv(shown);
    case 'none':
      return () => '';
  }
}

/** A header from the first record, then a line a record; what is nested is a cell of JSON. */
function csv(shown: (stored: Stored<unknown>) => unknown): Format {
  let columns: readonly string[] | null = null;
  return async (stored) => {
    const row = plain(shown(stored)) as Readonly<Record<string, unknown>>;
    const first = columns === null;
    columns ??= Object.keys(row);
    const cells = columns.map((column) => cell(row[column]));
    const lines = await writeToString(first ? [[...columns], cells] : [cells], { headers: false });
    return `${lines}\n`;
  };
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
