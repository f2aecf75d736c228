/**
 * Passages by their words: BM25+ over their contents, in memory (wordIndex.ts). If another retriever can read
 * them, only their ids are kept.
 */
import { MillraceError } from '../../../base/index.ts';
import type { Hit, Passage, Retriever } from './retriever.ts';
import { WordIndexBuilder } from './wordIndex.ts';

/** Passages taken before others get a turn on the thread. */
const TURN = 1000;

/**
 * Reads and indexes all passages. Fails with code `RETRIEVER` if two have one id, or with the signal's
 * reason. `read` reads the passage of a row, from 0; left out = all passages are kept in memory.
 */
export async function bm25Retriever(
  passages: Iterable<Passage> | AsyncIterable<Passage>,
  signal: AbortSignal,
  read?: (row: number) => Promise<Passage>,
): Promise<Retriever> {
  const builder = new WordIndexBuilder();
  const ids: string[] = [];
  const kept: Passage[] = [];
  const known = new Set<string>();
  for await (const passage of passages) {
    if (known.has(passage.id)) throw twice(passage.id);
    known.add(passage.id);
    ids.push(passage.id);
    builder.add(passage.contents);
    if (read === undefined) kept.push(passage);
    if (ids.length % TURN === 0) {
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
    }
  }
  known.clear();
  const index = builder.built();
  const before = (a: number, b: number): boolean => ids[a]! < ids[b]!;
  const passageAt = read ?? (async (row: number) => kept[row]!);

  return {
    passages: ids.length,
    async retrieve(queries, top, asking) {
      const results: Hit[][] = [];
      for (const query of queries) {
        asking.throwIfAborted();
        const found = index.find(query, top, before);
        const hits = found.map(async ({ row, score }) => ({ ...(await passageAt(row)), score }));
        results.push(await Promise.all(hits));
        // Lets others have a turn on the thread.
        await new Promise((resolve) => setImmediate(resolve));
      }
      return results;
    },
    close: async () => undefined,
  };
}

function twice(id: string): MillraceError<'RETRIEVER'> {
  return new MillraceError(
    'RETRIEVER',
    `two passages have the id ${JSON.stringify(id)}: ids must be unique`,
    { context: { id } },
  );
}
