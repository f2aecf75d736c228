/**
 * A questions file as a stream: CSV, JSON Lines or Parquet, told apart by the name's ending.
 *
 * Every row becomes exactly one item, in the order of the file: a question, or a dead letter that names
 * file, line and field. A bad row never stops the rest; a file that cannot be used at all fails at once
 * with code `QUESTIONS_FILE`. Memory is bounded by a line (CSV, JSONL) or a row group (Parquet), plus the
 * ids seen so far, which are kept to find duplicates.
 */
import { stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import type { DeadLetter } from '../streams/records.ts';
import { csvRows } from './csv.ts';
import { jsonlRows } from './jsonl.ts';
import { parquetRows } from './parquet.ts';
import { missingColumns, type QuestionRow, questionRow } from './questionRow.ts';
import { questionsFileError, type RawRow } from './rawRow.ts';

export type { QuestionRow } from './questionRow.ts';

/** One row of the file: readable or not. */
export type QuestionItem = { readonly value: QuestionRow } | { readonly deadLetter: DeadLetter };

/** A dead letter keeps this much of its row. */
const payloadCharactersMax = 2000;

const readers: Readonly<Record<string, (path: string) => AsyncGenerator<RawRow>>> = {
  '.csv': (path) => csvRows(path, missingColumns),
  '.jsonl': jsonlRows,
  '.ndjson': jsonlRows,
  '.parquet': (path) => parquetRows(path, missingColumns),
};

/**
 * Reads a questions file.
 *
 * @throws MillraceError `QUESTIONS_FILE` when the file is missing, of an unknown kind, lacks a column, or is broken
 *   as a whole; the message says what to do.
 */
export async function* readQuestions(path: string): AsyncGenerator<QuestionItem> {
  const kind = extname(path).toLowerCase();
  const rows = await reader(path, kind);
  const seen = new Map<string, number>();
  for await (const row of rows(path)) {
    if (row.kind === 'unreadable') {
      yield dead(path, row, { field: '', key: '', reason: row.reason });
      continue;
    }
    const checked = questionRow(row.fields, kind === '.csv');
    if ('complaint' in checked) {
      yield dead(path, row, checked.complaint);
      continue;
    }
    const { id } = checked.value;
    const first = seen.get(id);
    if (first !== undefined) {
      yield dead(path, row, {
        field: 'id',
        key: id,
        reason: `is already the id of ${kind === '.parquet' ? 'row' : 'line'} ${first}`,
      });
      continue;
    }
    seen.set(id, row.place);
    yield checked;
  }
}

async function reader(
  path: string,
  kind: string,
): Promise<(path: string) => AsyncGenerator<RawRow>> {
  const found = readers[kind];
  const kinds = Object.keys(readers).join(', ');
  if (found === undefined) {
    const why = kind === '' ? 'has no ending' : `ends in ${kind}`;
    throw questionsFileError(`questions file ${path} ${why}; give a file that ends in ${kinds}`);
  }
  const entry = await stat(path).catch(() => null);
  if (entry === null) {
    const where = resolve(path);
    throw questionsFileError(
      `questions file ${path} does not exist (looked for ${where}). Check the path; it is taken from the folder that you start in.`,
    );
  }
  if (!entry.isFile()) {
    throw questionsFileError(`${path} is not a file; give one that ends in ${kinds}`);
  }
  return found;
}

function dead(
  origin: string,
  row: { readonly place: number; readonly payload: string },
  { field, key, reason }: { field: string; key: string; reason: string },
): { deadLetter: DeadLetter } {
  const payload = row.payload.slice(0, payloadCharactersMax);
  return { deadLetter: { origin, place: row.place, key, field, reason, payload } };
}
