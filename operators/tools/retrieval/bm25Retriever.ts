/**
 * Passages by their words: BM25+ over title and contents, in memory.
 *
 * All passages and their words are kept in this process, so it is for corpora that fit (docs/retrieval.md has numbers).
 */
import { MillraceError } from '../../../base/errors.ts';
import { wordIndexOf } from '../search/wordIndex.ts';
import { byScore, type Hit, type Passage, type Retriever } from './retriever.ts';

/** Reads and indexes all passages. Fails with code `RETRIEVER` where two have one id, or with the signal's reason. */
export async function bm25Retriever(
  passages: Iterable<Passage> | AsyncIterable<Passage>,
  signal: AbortSignal,
): Promise<Retriever> {
  const all: Passage[] = [];
  for await (const passage of passages) {
    signal.throwIfAborted();
    all.push(passage);
  }
  unique(all);
  const texts = all.map(({ title = '', contents }) => ({ title, text: contents }));
  const index = await wordIndexOf(texts, signal);

  function found(query: string, top: number): Hit[] {
    const hits = index.search(query).map(({ id, score }) => ({ ...all[id as number]!, score }));
    return hits.sort(byScore).slice(0, top);
  }

  return {
    passages: all.length,
    async retrieve(queries, top, asking) {
      const results: Hit[][] = [];
      for (const query of queries) {
        asking.throwIfAborted();
        results.push(found(query, top));
        // A long list of queries lets others have a turn.
        if (queries.length > 1) await new Promise((resolve) => setImmediate(resolve));
      }
      return results;
    },
    close: async () => undefined,
  };
}

function unique(passages: readonly Passage[]): void {
  const ids = new Set<string>();
  for (const { id } of passages) {
    if (ids.has(id)) {
      throw new MillraceError(
        'RETRIEVER',
        `two passages have the id ${JSON.stringify(id)}: ids tell passages apart, so give each its own`,
        { context: { id } },
      );
    }
    ids.add(id);
  }
}
