/**
 * The ways to print a tap: `pretty` for eyes; `ndjson`, `json`, `csv`, `avro` and a template for other programs; `hex` and
 * `raw`, the bytes as they lie; `none` to look at `--stats` alone.
 */
import { writeToString } from 'fast-csv';
import type { Stored } from '../../streams/log.ts';
import type { Topic } from '../../streams/topic.ts';
import { jsonText, plain } from '../../views/text/plain.ts';
import { usageError } from '../failure.ts';
import { avroFile } from './avroFile.ts';
import { withEnvelope } from './fields.ts';
import { hexLines } from './hex.ts';
import { headLine, pretty } from './pretty.ts';
import { template } from './template.ts';

export const formatNames = [
  ...['pretty', 'ndjson', 'json', 'csv', 'hex', 'raw', 'avro', 'none'],
] as const;

/** One record as it is printed, its line ends included; `shown` = what of it. */
export type Format = (
  stored: Stored<unknown>,
  shown: unknown,
) => Promise<string> | string | Uint8Array;

/** What of a record is put into text. */
type View = (stored: Stored<unknown>, shown: unknown) => unknown;

/** One for these topics. */
export type FormatFor = (topics: readonly Topic<unknown>[]) => Format;

export interface FormatOptions {
  /** `ndjson`, `json` and `csv`: under offset, key and time; null = where there are several topics. */
  readonly envelope: boolean | null;
  /** `pretty`: characters of a text. */
  readonly truncate: number;
  /** Parts of records are shown, not whole ones: which option says so. */
  readonly partsBy: string | null;
  /** What is printed goes to a terminal. */
  readonly terminal: boolean;
}

/** Whether it prints the bytes of a record as they lie. */
export function needsBytes(name: string): boolean {
  return name === 'hex' || name === 'raw';
}

/** Fails with code `USAGE` where there is no such format, or it cannot print what is asked for. */
export function formatOf(name: string, options: FormatOptions): FormatFor {
  checked(name, options);
  // Records of several topics have nothing in common but their envelope.
  const enveloped = (count: number): View => {
    const envelope = options.envelope ?? count > 1;
    return (stored, shown) => (envelope ? withEnvelope(stored, shown) : shown);
  };
  const json =
    (indent?: number): FormatFor =>
    ({ length }) => {
      const whole = enveloped(length);
      return (stored, shown) => `${jsonText(whole(stored, shown), indent)}\n`;
    };
  switch (name) {
    case 'pretty':
      return () => (stored, shown) => pretty(stored, shown, options.truncate);
    case 'ndjson':
      return json();
    case 'json':
      return json(2);
    case 'csv':
      return ({ length }) => csv(enveloped(length));
    case 'hex':
      return () => hex;
    case 'raw':
      return () =>
        ({ encoded }) =>
          encoded!.body;
    case 'avro':
      return avro;
    case 'none':
      return () => () => '';
    default:
      return line(name);
  }
}

function checked(name: string, { partsBy, terminal }: FormatOptions): void {
  if (partsBy !== null && ['hex', 'raw', 'avro'].includes(name)) {
    throw usageError(`-o ${name} prints whole records; leave out ${partsBy}, or take -o ndjson`);
  }
  if (partsBy === '--diff' && name === 'csv') {
    throw usageError('-o csv has the same columns in every line; with --diff take -o ndjson');
  }
  if (terminal && ['raw', 'avro'].includes(name)) {
    throw usageError(`-o ${name} is no text; write it to a file (> records), or take -o hex`);
  }
}

function avro(topics: readonly Topic<unknown>[]): Format {
  const [topic] = topics;
  if (topics.length !== 1 || topic === undefined) {
    const names = topics.map(({ name }) => name).join(', ');
    throw usageError(`-o avro makes a file of one topic, and these are ${topics.length}: ${names}`);
  }
  if (topic.codec.schema !== null) return avroFile(topic);
  throw usageError(
    `-o avro writes records by a contract, and that of ${topic.name} is the job's own; take -o ndjson or -o raw`,
  );
}

function line(text: string): FormatFor {
  if (!text.includes('%')) {
    throw usageError(
      `-o takes ${formatNames.join(', ')}, or a line such as '%t[%p]@%o %T %k %s\\n'; given: ${text}`,
    );
  }
  const print = template(text);
  return () => (stored, shown) => print(stored, () => jsonText(shown));
}

/** Under the line that `pretty` begins with, too. */
function hex(stored: Stored<unknown>): string {
  const { schema, body } = stored.encoded!;
  const head = `${headLine(stored)}  schema ${schema}, ${body.length} bytes`;
  return `${[head, ...hexLines(body).map((each) => `  ${each}`)].join('\n')}\n`;
}

/** A header from the first record, then a line a record; what is nested is a cell of JSON. */
function csv(whole: View): Format {
  let columns: readonly string[] | null = null;
  return async (stored, shown) => {
    const row = plain(whole(stored, shown)) as Readonly<Record<string, unknown>>;
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
