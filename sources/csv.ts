/**
 * Rows of a CSV file with a header, read as a stream and parsed by fast-csv, many records to a parser.
 *
 * Quotes decide where a record ends: it continues on the next line while one is open. What the parser would
 * refuse is detected before (csvQuotes.ts), so a malformed record costs itself and nothing after it. When a
 * record is malformed (or a quote never closes), only its first line is given up and reading goes on at the
 * second: a stray quote does not swallow the good rows that follow.
 */

import { parseString } from 'fast-csv';
import { outsideText } from '../base/index.ts';
import { counted } from '../base/text/index.ts';
import { isMalformed, quotesIn } from './csvQuotes.ts';
import { type Line, lines } from './lines.ts';
import { questionsFileError, type RawRow } from './rawRow.ts';

/** Limit of lines in a record. */
const recordLinesMax = 1000;
/** How many lines to read ahead before parsing. */
const aheadLinesMax = 256;
const aheadCharactersMax = 1 << 20;

type TextLine = Extract<Line, { text: string }>;

/** The rows after the header, under its names. `check` says what is wrong with the header, or null. */
export async function* csvRows(
  path: string,
  check: (columns: readonly string[]) => string | null,
): AsyncGenerator<RawRow> {
  let header: readonly string[] | null = null;
  for await (const record of records(path)) {
    if ('reason' in record) {
      yield { kind: 'unreadable', ...record };
    } else if (header === null) {
      header = record.cells.map((cell) => cell.trim());
      const complaint = check(header);
      if (complaint !== null) throw questionsFileError(`${path}: ${complaint}`);
    } else {
      yield named(record, header);
    }
  }
}

interface CsvRecord {
  readonly place: number;
  readonly cells: readonly string[];
  readonly payload: string;
}

interface Refused {
  readonly place: number;
  readonly reason: string;
  readonly payload: string;
}

function named({ place, cells, payload }: CsvRecord, header: readonly string[]): RawRow {
  if (cells.length !== header.length) {
    const reason = `has ${counted(cells.length, 'column')}, but the header has ${header.length}`;
    return { kind: 'unreadable', place, reason, payload };
  }
  const fields = Object.fromEntries(header.map((name, column) => [name, cells[column]!]));
  return { kind: 'fields', place, fields, payload };
}

async function* records(path: string): AsyncGenerator<CsvRecord | Refused> {
  const parser = csvParser();
  let pending: readonly TextLine[] = [];
  let ahead: TextLine[] = [];
  let characters = 0;
  for await (const line of lines(path)) {
    if (line.text !== null) {
      ahead.push(line as TextLine);
      characters += line.text.length;
      if (ahead.length < aheadLinesMax && characters < aheadCharactersMax) continue;
    }
    pending = yield* drain([...pending, ...ahead], line.text === null, parser);
    [ahead, characters] = [[], 0];
    if (line.text === null) yield { place: line.number, reason: line.reason, payload: '' };
  }
  yield* drain([...pending, ...ahead], true, parser);
}

/** Yields the complete records among `pending`; returns the lines of one that is still open. */
async function* drain(
  pending: readonly TextLine[],
  ended: boolean,
  parser: CsvParser,
): AsyncGenerator<CsvRecord | Refused, readonly TextLine[]> {
  let from = 0;
  while (from < pending.length) {
    const drafts = draftsOf(pending, from, parser.recordsMax());
    if (drafts.length === 0) {
      // Only empty lines and perhaps a record that is still open.
      while (pending[from]?.text.trim() === '') from++;
      const open = pending.slice(from);
      if (open.length === 0 || (!ended && open.length < recordLinesMax)) return open;
      yield refused(open[0]!, 'unclosed quote');
      from += 1;
      continue;
    }
    if (isMalformed(drafts[0]!.payload)) {
      const { first } = drafts[0]!;
      yield refused(
        pending[first]!,
        'text outside the quotes of a cell, or a line break within one',
      );
      from = first + 1;
      continue;
    }
    const rows = await parser.parse(drafts.map(({ payload }) => payload));
    if (typeof rows !== 'string') {
      for (const [i, { place, payload }] of drafts.entries()) {
        yield { place, cells: rows[i]!, payload };
      }
      from = drafts.at(-1)!.next;
    } else if (drafts.length === 1) {
      const { first } = drafts[0]!;
      yield refused(pending[first]!, rows);
      from = first + 1;
    }
  }
  return [];
}

function refused({ number, text }: TextLine, why: string): Refused {
  return { place: number, reason: `invalid CSV: ${why}`, payload: text };
}

/** A record as its quotes delimit it: its text, the index of its first line, and the index after its last. */
interface Draft {
  readonly place: number;
  readonly payload: string;
  readonly first: number;
  readonly next: number;
}

/**
 * The complete records among lines, from the line `from` on, up to a malformed one, which may be the first;
 * empty lines between them are left out.
 */
function draftsOf(pending: readonly TextLine[], from: number, most: number): readonly Draft[] {
  const drafts: Draft[] = [];
  let first = from;
  let quotes = 0;
  for (let at = from; at < pending.length && drafts.length < most; at++) {
    const { text } = pending[at]!;
    if (at === first && text.trim() === '') {
      first = at + 1;
      continue;
    }
    quotes += quotesIn(text);
    if (quotes % 2 === 1) {
      if (at + 1 - first >= recordLinesMax) break;
      continue;
    }
    const payload = pending
      .slice(first, at + 1)
      .map((line) => line.text)
      .join('\n');
    const malformed = isMalformed(payload);
    if (malformed && drafts.length > 0) return drafts;
    drafts.push({ place: pending[first]!.number, payload, first, next: at + 1 });
    if (malformed) return drafts;
    first = at + 1;
  }
  return drafts;
}

interface CsvParser {
  /** How many records to parse at once: fewer after one that did not parse. */
  recordsMax(): number;
  /** The cells of each record, or what is wrong with one of them. */
  parse(records: readonly string[]): Promise<readonly (readonly string[])[] | string>;
}

function csvParser(): CsvParser {
  let most = aheadLinesMax;
  return {
    recordsMax: () => most,
    async parse(texts) {
      const text = texts.join('\n');
      // Without quotes there is nothing to parse.
      if (!text.includes('"')) return texts.map((record) => record.split(','));
      const rows = await parsed(text);
      const isWhole = typeof rows !== 'string' && rows.length === texts.length;
      most = isWhole ? Math.min(most * 2, aheadLinesMax) : 1;
      if (isWhole || typeof rows === 'string') return rows;
      return `${rows.length} records in ${texts.length === 1 ? 'one' : texts.length}`;
    },
  };
}

/** The rows of a text, or what is wrong with it. */
function parsed(text: string): Promise<string[][] | string> {
  return new Promise((resolve) => {
    const rows: string[][] = [];
    parseString<string[], string[]>(text, { headers: false })
      .on('data', (row: string[]) => rows.push(row))
      .on('error', (error: Error) => resolve(outsideText(error.message, 200)))
      .on('end', () => resolve(rows));
  });
}
