/**
 * The output formats of a tap: `pretty` for people; `ndjson` (or `jsonl`), `json` and `csv` for programs;
 * `none` with `--stats`.
 */
import { jsonText, plain } from '../../base/terminal/index.ts';
import { csvCell } from '../../base/text/index.ts';
import type { Stored } from '../../streams/index.ts';
import { usageError } from '../failure.ts';
import { withEnvelope } from './fields.ts';
import { pretty } from './pretty.ts';
import { promptOf, type TextOf, withPrompt } from './promptText.ts';

export const formatNames = ['pretty', 'ndjson', 'jsonl', 'json', 'csv', 'none'] as const;

/** One record as printed, including its line end; `shown` = the selected part. */
export type Format = (stored: Stored<unknown>, shown: unknown) => Promise<string> | string;

/** The selected part of a record. */
type View = (stored: Stored<unknown>, shown: unknown) => unknown;

/** A format for this many topics; `textOf` = tokens as text, for people. */
export type FormatFor = (topics: number, textOf?: TextOf) => Format;

export interface FormatOptions {
  /** `ndjson`, `json` and `csv`: under offset, key and time; null = if there are several topics. */
  readonly envelope: boolean | null;
  /** `pretty`: characters of a text. */
  readonly truncate: number;
  /** Which option selects parts of records instead of whole ones. */
  readonly partsBy: string | null;
}

/** Fails with code `USAGE` if there is no such format, or if it cannot print the selection. */
export function formatOf(name: string, options: FormatOptions): FormatFor {
  if (options.partsBy === '--diff' && name === 'csv') {
    throw usageError('-o csv needs the same columns in every line; with --diff use -o ndjson');
  }
  // Records of several topics have nothing in common but their envelope.
  const enveloped = (topics: number): View => {
    const envelope = options.envelope ?? topics > 1;
    return (stored, shown) => (envelope ? withEnvelope(stored, shown) : shown);
  };
  const json =
    (indent?: number): FormatFor =>
    (topics) => {
      const whole = enveloped(topics);
      return (stored, shown) => `${jsonText(whole(stored, shown), indent)}\n`;
    };
  switch (name) {
    case 'pretty':
      return (_, textOf) => (stored, shown) => {
        const lines = (value: unknown): string => pretty(stored, value, options.truncate);
        if (textOf === undefined || promptOf(shown) === null) return lines(shown);
        return withPrompt(shown, textOf).then(lines);
      };
    case 'ndjson':
    case 'jsonl':
      return json();
    case 'json':
      return json(2);
    case 'csv':
      return (topics) => csv(enveloped(topics));
    case 'none':
      return () => () => '';
    default:
      throw usageError(`-o takes ${formatNames.join(', ')}; given: ${name}`);
  }
}

/** A header from the first record, then one line per record; what is nested is a cell of JSON. */
function csv(whole: View): Format {
  let columns: readonly string[] | null = null;
  return async (stored, shown) => {
    const row = plain(whole(stored, shown)) as Readonly<Record<string, unknown>>;
    const first = columns === null;
    columns ??= Object.keys(row);
    const cells = columns.map((column) => cell(row[column]));
    const { writeToString } = await import('fast-csv');
    const lines = await writeToString(first ? [columns.map(csvCell), cells] : [cells], {
      headers: false,
    });
    return `${lines}\n`;
  };
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  return csvCell(typeof value === 'object' ? JSON.stringify(value) : String(value));
}
