/**
 * Rows of a CSV file with a header, read as a stream and parsed by fast-csv one record at a time, so
 * that a malformed record costs itself and nothing after it.
 *
 * A record goes on over the next line while a quote is open. When such a record does not parse (or a
 * quote never closes), only its first line is given up and reading goes on at the second: a stray quote
 * does not swallow the good rows that follow.
 */

import { parseString } from 'fast-csv';
import { outsideText } from '../base/outsideText.ts';
import { type Line, lines } from './lines.ts';
import { questionsFileError, type RawRow } from './rawRow.ts';

/** A record may run over this many lines. */
const recordLinesMax = 1000;

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
    const reason = `${cells.length} columns where the header has ${header.length}`;
    return { kind: 'unreadable', place, reason, payload };
  }
  const fields = Object.fromEntries(header.map((name, column) => [name, cells[column]!]));
  return { kind: 'fields', place, fields, payload };
}

async function* records(path: string): AsyncGenerator<CsvRecord | Refused> {
  let open: TextLine[] = [];
  let inQuotes = false;
  for await (const line of lines(path)) {
    if (line.text !== null) {
      open.push(line as TextLine);
      if (quotesIn(line.text) % 2 === 1) inQuotes = !inQuotes;
      if (inQuotes && open.length < recordLinesMax) continue;
    }
    open = yield* drain(open, line.text === null || open.length >= recordLinesMax);
    inQuotes = open.length > 0;
    if (line.text === null) yield { place: line.number, reason: line.reason, payload: '' };
  }
  yield* drain(open, true);
}

/** Yields the complete records among `pending`; returns the lines of one that is still open. */
async function* drain(
  pending: TextLine[],
  ended: boolean,
): AsyncGenerator<CsvRecord | Refused, TextLine[]> {
  let rest = pending;
  for (let [first] = rest; first !== undefined; [first] = rest) {
    if (first.text.trim() === '') {
      rest = rest.slice(1);
      continue;
    }
    const length = recordLength(rest);
    if (length === null && !ended) return rest;
    const place = first.number;
    const payload = rest
      .slice(0, length ?? 1)
      .map((line) => line.text)
      .join('\n');
    const cells = length === null ? 'a quote is opened and never closed' : await parse(payload);
    if (typeof cells === 'string') {
      yield { place, reason: `bad CSV: ${cells}`, payload: first.text };
      rest = rest.slice(1);
    } else {
      yield { place, cells, payload };
      rest = rest.slice(length!);
    }
  }
  return [];
}

/** How many lines the first record has: up to the first line after which no quote is open. */
function recordLength(pending: readonly TextLine[]): number | null {
  let quotes = 0;
  for (let index = 0; index < pending.length; index++) {
    quotes += quotesIn(pending[index]!.text);
    if (quotes % 2 === 0) return index + 1;
  }
  return null;
}

function quotesIn(text: string): number {
  let quotes = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) quotes++;
  return quotes;
}

/** The cells of one record, or what is wrong with it. Where nothing is quoted there is nothing to parse. */
async function parse(record: string): Promise<string[] | string> {
  if (!record.includes('"')) return record.split(',');
  return new Promise((resolve) => {
    const rows: string[][] = [];
    parseString<string[], string[]>(record, { headers: false })
      .on('data', (row: string[]) => rows.push(row))
      .on('error', (error: Error) => resolve(outsideText(error.message, 200)))
      .on('end', () => resolve(rows.length === 1 ? rows[0]! : `${rows.length} records in one`));
  });
}
