/**
 * A retriever as its callers see it: texts in, the passages that are nearest in meaning or words out.
 *
 * Every retriever guarantees: the same question gives the same answer, best first, and of two passages with
 * one score the one whose id comes first (by UTF-16 units) is first.
 */

/** A piece of a corpus that can be found. */
export interface Passage {
  /** Unique in its corpus. */
  readonly id: string;
  /** All that is searched and shown; if there is a title, usually its first line. */
  readonly contents: string;
  readonly title?: string;
}

/** A passage found; a greater score is better. */
export interface Hit extends Passage {
  readonly score: number;
}

/** A searchable corpus. */
export interface Retriever {
  /** Number of passages. */
  readonly passages: number;
  /** For each query at most `top` passages, best first. Rejects with the signal's reason if it aborts. */
  retrieve(queries: readonly string[], top: number, signal: AbortSignal): Promise<Hit[][]>;
  close(): Promise<void>;
}

/** The order of hits: greater scores first, ties by id. */
export function byScore(a: Hit, b: Hit): number {
  if (a.score !== b.score) return b.score - a.score;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}
