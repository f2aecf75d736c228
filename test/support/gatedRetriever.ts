/**
 * A retriever that finds passages by the words they share with a query, and answers when the test lets it.
 */
import {
  byScore,
  type Hit,
  type Passage,
  type Retriever,
} from '../../operators/tools/retrieval/retriever.ts';

export interface GatedRetriever extends Retriever {
  /** The queries of every call, in order. */
  readonly calls: readonly { readonly queries: readonly string[]; readonly top: number }[];
  readonly closed: boolean;
  /** Calls that have begun and not ended. */
  readonly active: number;
  /** From now on calls wait. */
  hold(): void;
  /** Lets those that wait go on, and those that come. */
  release(): void;
  /** The next call fails with this. */
  failWith(error: Error): void;
  /** Resolves when this many calls have begun. */
  begun(calls: number): Promise<void>;
}

export const millPassages: readonly Passage[] = [
  { id: 'a', contents: 'A mill race carries water to the wheel.', title: 'Mill race' },
  { id: 'b', contents: 'A weir raises the water of a river.' },
  { id: 'c', contents: 'Ada wrote the first program.' },
];

export function gatedRetriever(passages: readonly Passage[] = millPassages): GatedRetriever {
  const calls: { queries: readonly string[]; top: number }[] = [];
  let [closed, active] = [false, 0];
  let failure: Error | null = null;
  let gate: { readonly opened: Promise<void>; readonly open: () => void } | null = null;
  const watchers = new Set<() => void>();
  const words = (text: string): string[] => text.toLowerCase().match(/\w+/g) ?? [];
  const find = (query: string, top: number): Hit[] => {
    const asked = new Set(words(query));
    const scored = passages.map((passage) => ({
      ...passage,
      score: words(passage.contents).filter((word) => asked.has(word)).length,
    }));
    return scored
      .filter(({ score }) => score > 0)
      .sort(byScore)
      .slice(0, top);
  };
  return {
    passages: passages.length,
    calls,
    get closed() {
      return closed;
    },
    get active() {
      return active;
    },
    async retrieve(queries, top, signal) {
      calls.push({ queries, top });
      active++;
      for (const look of watchers) look();
      try {
        if (gate !== null) {
          const gone = new Promise<never>((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          });
          await Promise.race([gate.opened, gone]);
        }
        if (failure !== null) {
          const error = failure;
          failure = null;
          throw error;
        }
        return queries.map((query) => find(query, top));
      } finally {
        active--;
      }
    },
    async close() {
      closed = true;
    },
    hold() {
      let open = (): void => undefined;
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      gate = { opened, open };
    },
    release() {
      gate?.open();
      gate = null;
    },
    failWith(error) {
      failure = error;
    },
    begun: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (calls.length < count) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
  };
}
