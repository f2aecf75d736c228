/** A corpus file: JSON Lines of `{id, title, text}`. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { MillraceError } from '../../streams/errors.ts';

export interface Document {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

const FIELDS = ['id', 'title', 'text'] as const;

/** Reads a corpus whole. Fails with code `CORPUS` naming file, line and field: a hole in a corpus would be silent. */
export async function readCorpus(path: string): Promise<Document[]> {
  const documents: Document[] = [];
  let line = 0;
  for await (const text of createInterface({
    input: createReadStream(path),
    crlfDelay: Infinity,
  })) {
    line++;
    if (text.trim() !== '') documents.push(parse(text, `${path}, line ${line}`));
  }
  return documents;
}

function parse(text: string, place: string): Document {
  let row: Partial<Document> | null;
  try {
    row = JSON.parse(text) as Partial<Document> | null;
  } catch (cause) {
    throw new MillraceError('CORPUS', `${place}: not JSON; a line is {"id","title","text"}`, {
      cause,
    });
  }
  for (const field of FIELDS) {
    if (typeof row?.[field] !== 'string') {
      throw new MillraceError('CORPUS', `${place}: field ${field} must be text`);
    }
  }
  return row as Document;
}
