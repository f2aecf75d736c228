/**
 * From the rows of a file to its questions: every row becomes exactly one item, in the order of the file, a
 * question or a dead letter that names file, line and field. What a row means is the caller's (`ReadRow`).
 *
 * Memory is bounded by what a format reader holds, plus the ids seen so far, which are kept to find
 * duplicates.
 */
import { stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import type { DeadLetter } from '../streams/records.ts';
import { csvRows } from './csv.ts';
import { jsonArrayRows, jsonlRows } from './json.ts';
import { parquetRows } from './parquet.ts';
import type { Checked, Complaint, QuestionRow } from './questionRow.ts';
import { questionsFileError, type RawRow } from './rawRow.ts';

/** One row of the file: readable or not. */
export type QuestionItem = { readonly value: QuestionRow } | { readonly deadLetter: DeadLetter };

export interface RowRules {
  /** What is wrong with the columns of a file that has some (CSV, Parquet), or null. */
  readonly check: (columns: readonly string[]) => string | null;
  /** `place` is the row's line or number, from 1; `text` = every cell is text (CSV). */
  readonly read: (
    fields: Readonly<Record<string, unknown>>,
    at: { readonly place: number; readonly text: boolean },
  ) => Checked;
}

/** A dead letter keeps this much of its row. */
const payloadCharactersMax = 2000;

type Check = RowRules['check'];

const readers: Readonly<Record<string, (path: string, check: Check) => AsyncGenerator<RawRow>>> = {
  '.csv': csvRows,
  '.jsonl': jsonlRows,
  '.ndjson': jsonlRows,
  '.json': jsonArrayRows,
  '.parquet': parquetRows,
};

/** The extensions of files that can be read. */
export const fileKinds: readonly string[] = Object.keys(readers);

/** Throws code `QUESTIONS_FILE` when the file cannot be used at all; the message says what to do. */
export async function* questionItems(path: string, rules: RowRules): AsyncGenerator<QuestionItem> {
  const kind = extname(path).toLowerCase();
  const rows = await reader(path, kind);
  const counted = kind === '.parquet' || kind === '.json' ? 'row' : 'line';
  const seen = new Map<string, number>();
  for await (const row of rows(path, rules.check)) {
    if (row.kind === 'unreadable') {
      yield dead(path, row, { field: '', key: '', reason: row.reason });
      continue;
    }
    const checked = rules.read(row.fields, { place: row.place, text: kind === '.csv' });
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
        reason: `is already the id of ${counted} ${first}`,
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
): Promise<(path: string, check: Check) => AsyncGenerator<RawRow>> {
  const found = readers[kind];
  const kinds = fileKinds.join(', ');
  if (found === undefined) {
    const why = kind === '' ? 'has no extension' : `ends in ${kind}`;
    throw questionsFileError(`questions file ${path} ${why}; give a file that ends in ${kinds}`);
  }
  const entry = await stat(path).catch(() => null);
  if (entry === null) {
    const where = resolve(path);
    throw questionsFileError(
      `questions file ${path} does not exist (looked for ${where}). Check the path; it is relative to the folder that you start from.`,
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
  { field, key, reason }: Complaint,
): { deadLetter: DeadLetter } {
  const payload = row.payload.slice(0, payloadCharactersMax);
  return { deadLetter: { origin, place: row.place, key, field, reason, payload } };
}
