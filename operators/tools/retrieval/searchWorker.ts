/**
 * Entry of the worker that searches an index: every passage if there is no graph, else the candidates of each
 * graph.
 *
 * The graphs are mapped into memory; of the vectors only those of the candidates are read, of the passages
 * only those that were found, each from its file.
 */
import { openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Index } from 'usearch';
import { serve } from '../../../base/index.ts';
import { CANDIDATES, type GraphForm, newGraph } from './graph.ts';
import { best, dot, type Nearest } from './nearest.ts';
import { openPassages, type PassageReader } from './passageFile.ts';
import { byScore, type Hit } from './retriever.ts';
import { readRows, rowBytes } from './vectorFile.ts';

export interface OpenSearch extends GraphForm {
  /** Of the index. */
  readonly folder: string;
  readonly passages: number;
  readonly vectors: string;
  /** Files of the graphs; none = every passage is compared. */
  readonly graphs: readonly string[];
  readonly threads: number;
}

export interface SearchCall {
  /** [queries, dimensions], row by row. */
  readonly queries: Float32Array;
  /** Passages for each. */
  readonly top: number;
}

interface Searcher {
  search(call: SearchCall): readonly Nearest[];
}

async function exactSearcher(opened: OpenSearch): Promise<Searcher> {
  const { vectors, dimensions, passages } = opened;
  const file: FileHandle = await open(vectors, 'r');
  const all = await readRows(file, vectors, { dimensions, from: 0, count: passages });
  await file.close();
  const rows = Uint32Array.from({ length: passages }, (_, row) => row);
  return {
    search: ({ queries, top }) =>
      Array.from({ length: queries.length / dimensions }, (_, query) => {
        const at = query * dimensions;
        const scores = Float64Array.from(rows, (row) =>
          dot(queries, at, all, row * dimensions, dimensions),
        );
        return best(rows, scores, top);
      }),
  };
}

async function graphSearcher(opened: OpenSearch): Promise<Searcher> {
  const { vectors, dimensions, threads } = opened;
  const graphs: Index[] = [];
  for (const path of opened.graphs) {
    const graph = newGraph(opened);
    graph.view(path);
    graphs.push(graph);
  }
  // Closed with the thread.
  const file = openSync(vectors, 'r');
  const row = new Float32Array(dimensions);
  const bytes = new Uint8Array(row.buffer);
  const scored = (queries: Float32Array, query: number, candidates: Candidates, top: number) => {
    const scores = Float64Array.from(candidates.rows, (candidate) => {
      const read = readSync(file, bytes, 0, bytes.length, candidate * rowBytes(dimensions));
      if (read < bytes.length) throw new Error(`${vectors} ends before row ${candidate}`);
      return dot(queries, query * dimensions, row, 0, dimensions);
    });
    return best(candidates.rows, scores, top);
  };
  return {
    search({ queries, top }) {
      const wanted = Math.max(CANDIDATES.least, CANDIDATES.each * top);
      const count = queries.length / dimensions;
      const found = graphs.map((graph) => asked(graph, queries, count, wanted, threads));
      return Array.from({ length: count }, (_, query) => {
        const all = found.map((of) => of[query] as Candidates);
        return scored(queries, query, merged(all, wanted), top);
      });
    },
  };
}

/** A graph's candidates near a query, by its own rounded distances. */
interface Candidates {
  readonly rows: Uint32Array;
  readonly distances: Float32Array;
}

function asked(
  graph: Index,
  queries: Float32Array,
  count: number,
  wanted: number,
  threads: number,
): readonly Candidates[] {
  const most = Math.min(wanted, graph.size());
  const found = graph.search(queries, most, Math.min(threads, count));
  const counts = 'counts' in found ? (found.counts as BigUint64Array) : null;
  return Array.from({ length: count }, (_, query) => {
    const start = query * most;
    const end = counts === null ? found.keys.length : start + Number(counts[query]);
    return {
      rows: Uint32Array.from(found.keys.subarray(start, end), Number),
      distances: found.distances.subarray(start, end),
    };
  });
}

/** The nearest of several graphs, as many as one would have given. */
function merged(all: readonly Candidates[], wanted: number): Candidates {
  if (all.length === 1) return all[0] as Candidates;
  const pairs = all.flatMap(({ rows, distances }) =>
    Array.from(rows, (row, i) => ({ row, distance: distances[i]! })),
  );
  pairs.sort((a, b) => a.distance - b.distance || a.row - b.row);
  const kept = pairs.slice(0, wanted);
  return {
    rows: Uint32Array.from(kept, ({ row }) => row),
    distances: Float32Array.from(kept, ({ distance }) => distance),
  };
}

/** The passages of these rows; ids decide between equal scores. */
function hits(passages: PassageReader, { rows, scores }: Nearest, top: number): Hit[] {
  const all = Array.from(rows, (row, i) => ({ ...passages.read(row), score: scores[i]! }));
  return all.sort(byScore).slice(0, top);
}

let opened: { readonly searcher: Searcher; readonly passages: PassageReader } | undefined;

serve({
  async open(argument: OpenSearch) {
    const searcher = await (argument.graphs.length === 0 ? exactSearcher : graphSearcher)(argument);
    opened = { searcher, passages: openPassages(argument.folder) };
  },
  search(call: SearchCall) {
    if (opened === undefined) throw new Error('the search worker was not opened');
    const { searcher, passages } = opened;
    return searcher.search(call).map((nearest) => hits(passages, nearest, call.top));
  },
});
