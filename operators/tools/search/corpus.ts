/**
 * Reads a corpus: JSON lines `{"id", "title", "text"}`, one document each. Blank lines are skipped; the first
 * line that is not a document stops the reading, with its file, line and field.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { MillraceError } from '../../../base/index.ts';
import type { SearchDocument } from './searchTool.ts';

const FIELDS = ['id', 'title', 'text'] as const;

/** What is wrong with a line of a corpus, and where it is. */
export class CorpusError extends MillraceError<'CORPUS'> {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Empty if the line as a whole is wrong. */
  readonly field: string;

  constructor(file: string, line: number, field: string, reason: string) {
    super('CORPUS', `${file}:${line}: ${field ? `field "${field}": ` : ''}${reason}`, {
      context: { file, line, field },
    });
    this.file = file;
    this.line = line;
    this.field = field;
  }
}

/** One line as a document. Throws `CorpusError`. */
export function parseDocument(text: string, file: string, line: number): SearchDocument {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CorpusError(file, line, '', `not JSON (${(error as Error).message})`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CorpusError(file, line, '', 'not an object; write {"id": …, "title": …, "text": …}');
  }
  const fields = value as Partial<Record<(typeof FIELDS)[number], unknown>>;
  for (const field of FIELDS) {
    if (fields[field] === undefined) throw new CorpusError(file, line, field, 'is missing');
    if (typeof fields[field] !== 'string')
      throw new CorpusError(file, line, field, 'is not a string');
  }
  const { id, title, text: body } = fields as Record<(typeof FIELDS)[number], string>;
  return { id, title, text: body };
}

/** All documents of a JSONL file, in its order. Rejects with `CorpusError`, or when it cannot be read. */
export async function readCorpus(file: string): Promise<readonly SearchDocument[]> {
  const documents: SearchDocument[] = [];
  const lines = createInterface({
    input: createReadStream(file, 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  });
  let line = 0;
  for await (const text of lines) {
    line++;
    if (text.trim() !== '') documents.push(parseDocument(text.replace(/^\uFEFF/, ''), file, line));
  }
  return documents;
}
