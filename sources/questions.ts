/**
 * A questions file as a stream: CSV, JSON Lines, a JSON array or Parquet, chosen by the name's ending.
 *
 * Every row becomes exactly one item, in the order of the file: a question, or a dead letter that names
 * file, line and field. A bad row never stops the rest; a file that cannot be used at all fails at once
 * with code `QUESTIONS_FILE`.
 */
import { type QuestionItem, questionItems } from './questionItems.ts';
import { missingColumns, questionRow } from './questionRow.ts';

export type { QuestionItem } from './questionItems.ts';
export type { QuestionRow } from './questionRow.ts';

/**
 * Reads a questions file.
 *
 * @throws MillraceError `QUESTIONS_FILE` when the file is missing, of an unknown kind, lacks a column, or is
 * broken
 *   as a whole; the message says what to do.
 */
export function readQuestions(path: string): AsyncGenerator<QuestionItem> {
  return questionItems(path, {
    check: missingColumns,
    read: (fields, { text }) => questionRow(fields, text),
  });
}
