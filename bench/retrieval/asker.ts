/**
 * The process that answers the queries of `bench:retrieval`, by itself so that its memory is its own: opens
 * the index, asks it, and sends what it found to its parent.
 */
import { join } from 'node:path';
import { residentBytes } from '../../base/system/platform.ts';
import { CANDIDATES, newGraph } from '../../operators/tools/retrieval/graph.ts';
import { readManifest } from '../../operators/tools/retrieval/manifest.ts';
import { openRetriever } from '../../operators/tools/retrieval/openRetriever.ts';
import { clusterEncoder, clusters } from './clusters.ts';

export interface Ask {
  readonly folder: string;
  readonly passages: number;
  readonly dimensions: number;
  /** Different ones. */
  readonly queries: number;
  /** In a batch. */
  readonly atATime: number;
  readonly asked: number;
  readonly threads: number;
  readonly top: number;
}

export interface Answered {
  readonly openMs: number;
  /** Ids, query by query. */
  readonly found: readonly (readonly string[])[];
  readonly ms: number;
  /** Of the processor, all threads together. */
  readonly cpuMs: number;
  readonly residentBytes: number;
  /** For as many, of usearch alone: rows of its graphs, no scores of ours and no passages. */
  readonly aloneMs: number;
}

/** Encoding is not measured: the queries' vectors are made before. */
async function answer(ask: Ask): Promise<Answered> {
  const { passages, dimensions, queries, threads, top } = ask;
  const { signal } = new AbortController();
  const encoder = clusterEncoder(clusters(passages, dimensions));
  const vectors = new Map<string, Float32Array>();
  for (let i = 0; i < queries; i++)
    vectors.set(`query ${i}`, await encoder.encode([`query ${i}`], 'query', signal));
  const encode = async (texts: readonly string[]): Promise<Float32Array> => {
    const all = new Float32Array(texts.length * dimensions);
    for (const [i, text] of texts.entries()) all.set(vectors.get(text)!, i * dimensions);
    return all;
  };
  const opening = performance.now();
  const openEncoder = async () => ({ ...encoder, encode });
  const retriever = await openRetriever(ask.folder, { openEncoder, threads });
  const openMs = performance.now() - opening;
  const found: (readonly string[])[] = [];
  const batch = async (from: number): Promise<void> => {
    const texts = Array.from({ length: ask.atATime }, (_, i) => `query ${(from + i) % queries}`);
    const hits = await retriever.retrieve(texts, top, signal);
    for (const [i, of] of hits.entries()) found[(from + i) % queries] = of.map(({ id }) => id);
  };
  // a first round, not timed: what is on the disk comes into memory
  for (let i = 0; i < queries; i += ask.atATime) await batch(i);
  const cpu = process.cpuUsage();
  const start = performance.now();
  for (let i = 0; i < ask.asked; i += ask.atATime) await batch(i);
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const resident = residentBytes(process.pid) ?? process.memoryUsage.rss();
  await retriever.close();
  const aloneMs = await alone(ask, [...vectors.values()]);
  return { openMs, found, ms, cpuMs: (user + system) / 1000, residentBytes: resident, aloneMs };
}

async function alone(
  { folder, dimensions, asked, atATime, threads }: Ask,
  vectors: readonly Float32Array[],
): Promise<number> {
  const { graphs, encoder } = await readManifest(folder);
  const opened = graphs.map(({ file }) => {
    const graph = newGraph({ dimensions, normalised: encoder.settings.normalised });
    graph.view(join(folder, file));
    return graph;
  });
  const all = new Float32Array(atATime * dimensions);
  const batch = (from: number): void => {
    for (let i = 0; i < atATime; i++)
      all.set(vectors[(from + i) % vectors.length]!, i * dimensions);
    for (const graph of opened) graph.search(all, CANDIDATES.least, threads);
  };
  for (let i = 0; i < vectors.length; i += atATime) batch(i);
  const start = performance.now();
  for (let i = 0; i < asked; i += atATime) batch(i);
  return performance.now() - start;
}

process.once('message', (ask: Ask) => {
  void answer(ask).then((answered) => {
    process.send?.(answered);
    process.disconnect();
  });
});
