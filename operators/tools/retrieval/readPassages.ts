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
import type { Passage } from './retriever.ts';

const EXAMPLE = '{"id": …, "contents": …} or {"id": …, "title": …, "text": …}';

/** In the file's order. Rejects with `CorpusError`, or when it cannot be read. */
export async function* readPassages(file: string): AsyncGenerator<Passage> {
  for await (const { text, line } of rowsOf(file)) yield parsePassage(text, file, line);
}

/** One line as a passage. Throws `CorpusError`. */
export function parsePassage(row: string, file: string, line: number): Passage {
  const fields = rowIn(row, file, line, EXAMPLE) as Readonly<Record<string, unknown>>;
  const text = (field: string): string | undefined => {
    const value = fields[field] ?? undefined;
    if (value === undefined || typeof value === 'string') return value;
    throw new CorpusError(file, line, field, 'is not a string');
  };
  const id = Number.isSafeInteger(fields.id) ? String(fields.id) : text('id');
  if (id === undefined) throw new CorpusError(file, line, 'id', 'is missing');
  const title = text('title');
  const named = title === undefined || title === '' ? {} : { title };
  const contents = text('contents');
  if (contents !== undefined) return { id, contents, ...named };
  const body = text('text');
  if (body === undefined)
    throw new CorpusError(file, line, 'contents', 'is missing, and so is text');
  return {
    id,
    contents: title === undefined || title === '' ? body : `${title}\n${body}`,
    ...named,
  };
}
