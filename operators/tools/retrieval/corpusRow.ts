/** One row of a corpus as a passage: FlashRAG's `id` and `contents`, or `id`, `title` and `text`. */
import type { Passage } from './retriever.ts';

/** A passage and the line or row of the file that it stands in; or what is wrong there. */
export type CorpusRow =
  | { readonly place: number; readonly passage: Passage }
  | { readonly place: number; readonly reason: string };

/** The passage that these fields describe, or why they describe none. */
export function passageOf(fields: Readonly<Record<string, unknown>>): Passage | string {
  const id = idOf(fields.id ?? fields._id);
  if (id === null) return 'field "id": must be a text or a whole number, and not empty';
  const title = fields.title ?? '';
  if (typeof title !== 'string') return 'field "title": is not a text';
  const given = fields.contents ?? fields.text;
  const name = fields.contents === undefined || fields.contents === null ? 'text' : 'contents';
  if (given === undefined || given === null)
    return 'field "contents": is missing (or "text", beside a "title")';
  if (typeof given !== 'string') return `field "${name}": is not a text`;
  if (given.trim() === '') return `field "${name}": is empty`;
  const contents = name === 'text' && title !== '' ? `${title}\n${given}` : given;
  return title === '' ? { id, contents } : { id, title, contents };
}

function idOf(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : value;
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return String(value);
  return null;
}
