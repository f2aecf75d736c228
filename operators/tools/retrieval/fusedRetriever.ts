/**
 * Several retrievers as one: each gives its candidates, and a passage's scores in those lists become
 * one score.
 *
 * `rrf`, reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): the sum of 1 / (60 + rank) over the
 * lists that have it, ranks from 1. It looks at ranks alone, so scores of different kinds need no common
 * scale. `weighted`: the weighted sum of scores that are brought to 0 … 1 within each list (its best = 1, its
 * worst = 0), 0 if a list lacks the passage.
 *
 * A passage is identified by its id. Ties by id, sums in the order of the parts: the same lists give the same
 * answer.
 */
import { byScore, type Hit, type Retriever } from './retriever.ts';

/** How scores become one. */
export const fusionMethods = ['rrf', 'weighted'] as const;
/** One of `fusionMethods`. */
export type FusionMethod = (typeof fusionMethods)[number];

/** What to fuse, and how. */
export interface FusionOptions {
  readonly method: FusionMethod;
  /** Weight of each part, for `weighted`; 1 each if left out. */
  readonly weights?: readonly number[];
  /** Minimum number of candidates from each part (default 100). */
  readonly candidates?: number;
}

const CANDIDATES = 100;
/** The constant of the paper. */
const RANK_CONSTANT = 60;

/** One retriever over all of `parts`, which it owns. */
export function fusedRetriever(parts: readonly Retriever[], options: FusionOptions): Retriever {
  const { candidates = CANDIDATES } = options;
  return {
    passages: Math.max(...parts.map(({ passages }) => passages)),
    async retrieve(queries, top, signal) {
      const depth = Math.max(top, candidates);
      const lists = await Promise.all(parts.map((part) => part.retrieve(queries, depth, signal)));
      return queries.map((_, query) => {
        const hits = lists.map((list) => list[query] ?? []);
        return fused(hits, options).slice(0, top);
      });
    },
    close: async () => void (await Promise.all(parts.map((part) => part.close()))),
  };
}

/** The passages of all lists, best first. */
export function fused(
  lists: readonly (readonly Hit[])[],
  { method, weights = [] }: Pick<FusionOptions, 'method' | 'weights'>,
): Hit[] {
  const sums = new Map<string, { readonly hit: Hit; score: number }>();
  for (const [part, list] of lists.entries()) {
    const parts = method === 'rrf' ? reciprocalRanks(list) : scaled(list, weights[part] ?? 1);
    for (const [place, hit] of list.entries()) {
      const known = sums.get(hit.id);
      if (known === undefined) sums.set(hit.id, { hit, score: parts[place]! });
      else known.score += parts[place]!;
    }
  }
  return [...sums.values()].map(({ hit, score }) => ({ ...hit, score })).sort(byScore);
}

function reciprocalRanks(list: readonly Hit[]): number[] {
  return list.map((_, place) => 1 / (RANK_CONSTANT + place + 1));
}

function scaled(list: readonly Hit[], weight: number): number[] {
  const scores = list.map(({ score }) => score);
  const [worst, best] = [Math.min(...scores), Math.max(...scores)];
  // A list of equal scores says nothing about their order.
  return scores.map((score) => weight * (best === worst ? 1 : (score - worst) / (best - worst)));
}
