/**
 * From the rows of a file to its questions: every row becomes exactly one item, in the order of the file, a
 * question or a dead letter that names file, line and field. What a row means is the caller's (`ReadRow`).
 *
 * Memory is bounded by what a format reader holds, plus the ids seen so far, which are kept to find
 * duplicates.
 */
import type { DeadLetter } from '../topics/index.ts';
import { type CheckColumns, deadRow, openRows } from './openRows.ts';
import type { Checked, QuestionRow } from './questionRow.ts';
import { questionsFileError } from './rawRow.ts';

export { fileKinds } from './openRows.ts';

/** One row of the file: readable or not. */
export type QuestionItem = { readonly value: QuestionRow } | { readonly deadLetter: DeadLetter };

export interface RowRules {
  /** The file may be a folder of conversations, a row each. */
  readonly conversations?: boolean;
  readonly check: CheckColumns;
  /** `place` is the row's line or number, from 1; `text` = every cell is text (CSV). */
  readonly read: (
    fields: Readonly<Record<string, unknown>>,
    at: { readonly place: number; readonly text: boolean },
  ) => Checked;
}

/** Throws code `QUESTIONS_FILE` when the file cannot be used at all; the message says what to do. */
export async function* questionItems(path: string, rules: RowRules): AsyncGenerator<QuestionItem> {
  const { rows, counted, text } = await openRows(path, 'questions file', rules.check, rules);
  const seen = new Map<string, number>();
  let isEmpty = true;
  for await (const row of rows) {
    isEmpty = false;
    if (row.kind === 'unreadable') {
      yield deadRow(path, row, { field: '', key: '', reason: row.reason });
      continue;
    }
    const checked = rules.read(row.fields, { place: row.place, text });
    if ('complaint' in checked) {
      yield deadRow(path, row, checked.complaint);
      continue;
    }
    const { id } = checked.value;
    const first = seen.get(id);
    if (first !== undefined) {
      const reason = `is already used in ${counted} ${first}`;
      yield deadRow(path, row, { field: 'id', key: id, reason });
      continue;
    }
    seen.set(id, row.place);
    yield checked;
  }
  if (isEmpty) throw questionsFileError(`the questions file ${path} has no rows`);
}
