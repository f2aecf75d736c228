/**
 * The passages of a corpus file, one after the other, so that it may be of any size. JSON Lines, in either form:
 *
 *     {"id": "7", "contents": "Mill race\nA mill race drives a wheel.", "title"?: "Mill race"}      (FlashRAG's)
 *     {"id": "7", "title": "Mill race", "text": "A mill race drives a wheel."}                       (the search tool's)
 *
 * The contents of the second are its title, a line break and its text. An id may be a whole number. Blank lines are skipped; the first
 * line that is no passage ends the reading, with its file, line and field.
 */
import { CorpusError, rowIn, rowsOf } from '../search/corpus.ts';
import { passageOf } from './corpusRow.ts';
import type { Passage } from './retriever.ts';

const EXAMPLE = '{"id": …, "contents": …} or {"id": …, "title": …, "text": …}';

/** In the file's order. Rejects with `CorpusError`, or when it cannot be read. */
export async function* readPassages(file: string): AsyncGenerator<Passage> {
  for await (const { text, line } of rowsOf(file)) yield parsePassage(text, file, line);
}

/** One line as a passage. Throws `CorpusError`. */
export function parsePassage(row: string, file: string, line: number): Passage {
  const fields = rowIn(row, file, line, EXAMPLE) as Readonly<Record<string, unknown>>;
  const found = passageOf(fields);
  if ('reason' in found) throw new CorpusError(file, line, found.field, found.reason);
  return found;
}
