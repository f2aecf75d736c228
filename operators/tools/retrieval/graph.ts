/**
 * The graphs of an index (HNSW: Malkov and Yashunin, 2016), by usearch. For use inside a worker: its calls
 * block.
 *
 * A graph gives candidates, whose scores are then computed from the vectors themselves (nearest.ts):
 * so it may keep the vectors in 8 bits, a quarter of their size. Vectors of other lengths than 1 it keeps in
 * 16 bits, because the rounding to 8 forgets their length. A graph is built by one thread, so that the same
 * vectors give the same graph.
 */
import { createRequire } from 'node:module';
import type { Index } from 'usearch';
import { MillraceError, machine } from '../../../base/index.ts';

/** What a graph is made with. */
export interface GraphForm {
  readonly dimensions: number;
  /** Every vector has length 1. */
  readonly normalised: boolean;
}

/** Neighbours of a passage on a level; on the lowest there are twice as many. */
const CONNECTIVITY = 16;
/** Candidates kept while looking for a neighbourhood: when the graph grows, and when it is searched. */
const EXPANSION_ADD = 128;
const EXPANSION_SEARCH = 56;

/** How many candidates are scored: for each requested passage, and at least. */
export const CANDIDATES = { each: 4, least: 40 };

/** An empty graph. Fails with code `RETRIEVER` if usearch has no build for this machine. */
export function newGraph({ dimensions, normalised }: GraphForm): Index {
  const { Index, MetricKind, ScalarKind } = library();
  return new Index({
    dimensions,
    metric: MetricKind.IP,
    quantization: normalised ? ScalarKind.I8 : ScalarKind.F16,
    connectivity: CONNECTIVITY,
    expansion_add: EXPANSION_ADD,
    expansion_search: EXPANSION_SEARCH,
    multi: false,
  });
}

/**
 * usearch by its CommonJS module: the other one takes the path of the native build from a stack trace, and if
 * that has an unexpected form (under tsx) never stops looking.
 */
export function library(): typeof import('usearch') {
  try {
    return createRequire(import.meta.url)('usearch') as typeof import('usearch');
  } catch (cause) {
    throw new MillraceError(
      'RETRIEVER',
      `usearch, which searches large corpora, has no build for this machine (${machine}; it needs ` +
        'Linux with glibc 2.34 or macOS): build the index with --exact, or use a machine that it runs on',
      { context: { machine }, cause },
    );
  }
}
