/**
 * One row of a corpus as a passage: FlashRAG's `id` and `contents`, or `id`, `title` and `text`, or a
 * function of a tool library, which is found by its name, description and parameters.
 */
import { functionText } from '../../deepAgent/tools/indexText.ts';
import { functionOf } from '../../deepAgent/tools/readLibrary.ts';
import type { Passage } from './retriever.ts';

/** What is wrong with a row. */
export interface RowFault {
  /** Empty if the row as a whole is wrong. */
  readonly field: string;
  readonly reason: string;
}

/** The passage that these fields describe, or why they describe none. */
export function passageOf(fields: Readonly<Record<string, unknown>>): Passage | RowFault {
  if (isFunction(fields)) {
    const doc = functionOf(fields);
    return 'reason' in doc ? doc : { id: doc.name, contents: functionText(doc) };
  }
  const given: typeof fields = { ...fields, id: wholeAsText(fields.id) };
  const texts: Partial<Record<'id' | 'title' | 'contents' | 'text', string>> = {};
  for (const field of ['id', 'title', 'contents', 'text'] as const) {
    const value = given[field] ?? undefined;
    if (value === undefined) continue;
    if (typeof value !== 'string') return { field, reason: 'is not a string' };
    texts[field] = value;
  }
  const { id, title = '', contents, text } = texts;
  if (id === undefined) return { field: 'id', reason: 'is missing' };
  const named = title === '' ? {} : { title };
  if (contents !== undefined) return { id, contents, ...named };
  if (text === undefined) return { field: 'contents', reason: 'is missing, and so is text' };
  return { id, contents: title === '' ? text : `${title}\n${text}`, ...named };
}

function isFunction(fields: Readonly<Record<string, unknown>>): boolean {
  const { id, contents, text, name, description, parameters } = fields;
  if (fields.function !== undefined) return fields.type === 'function';
  if (id !== undefined || contents !== undefined || text !== undefined) return false;
  return name !== undefined && (description !== undefined || parameters !== undefined);
}

function wholeAsText(id: unknown): unknown {
  return typeof id === 'bigint' || Number.isSafeInteger(id) ? String(id) : id;
}
