/** BM25+ over texts in memory (minisearch); a text's id is its place. */
import MiniSearch from 'minisearch';

/** What is searched of one text. */
export interface Indexed {
  readonly title: string;
  readonly text: string;
}

/** Texts that are added before others get a turn of the thread. */
const CHUNK = 1000;

/** Of few texts. */
export function wordIndex(texts: readonly Indexed[]): MiniSearch {
  const index = empty();
  index.addAll(texts.map(placed));
  return index;
}

/** Of many: the thread is let go in between. Rejects with the signal's reason. */
export async function wordIndexOf(
  texts: readonly Indexed[],
  signal: AbortSignal,
): Promise<MiniSearch> {
  const index = empty();
  for (let from = 0; from < texts.length; from += CHUNK) {
    index.addAll(texts.slice(from, from + CHUNK).map((text, i) => placed(text, from + i)));
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
  }
  return index;
}

function empty(): MiniSearch {
  return new MiniSearch({ fields: ['title', 'text'], idField: 'place' });
}

function placed({ title, text }: Indexed, place: number) {
  return { place, title, text };
}
