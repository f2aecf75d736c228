/**
 * The passages of a corpus file: JSON Lines, a JSON array, Parquet or CSV, one after the other, so that it
 * may be of any size.
 *
 *     {"id": "7", "contents": "Mill race\nA mill race drives a wheel.", "title"?: "Mill race"}      (FlashRAG's)
 *     {"id": "7", "title": "Mill race", "text": "A mill race drives a wheel."}                       (the search tool's)
 */
import { type CorpusRow, type Passage, passageOf } from '../../operators/tools/retrieval/index.ts';
import { CorpusError } from '../../operators/tools/search/index.ts';
import { openRows } from '../../sources/index.ts';

/**
 * Every row as a passage, or what is wrong with it. Rejects with code `QUESTIONS_FILE` if the file cannot be
 * read at all.
 */
export async function* corpusRows(path: string): AsyncGenerator<CorpusRow> {
  for await (const row of (await openRows(path, 'corpus', () => null)).rows) {
    const { place } = row;
    if (row.kind === 'unreadable') yield { place, reason: row.reason };
    else {
      const passage = passageOf(row.fields);
      if (!('reason' in passage)) yield { place, passage };
      else yield { place, reason: `field "${passage.field}": ${passage.reason}` };
    }
  }
}

/** Its passages. Rejects with `CorpusError` at the first invalid row. */
export async function* corpusPassages(path: string): AsyncGenerator<Passage> {
  for await (const row of corpusRows(path)) {
    if ('reason' in row) throw new CorpusError(path, row.place, '', row.reason);
    yield row.passage;
  }
}
