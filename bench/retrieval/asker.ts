/**
 * The process that answers the queries of `bench:retrieval`, by itself so that its memory is its own: opens
 * the index, asks it, and sends what it found to its parent.
 */
import { residentBytes } from '../../base/system/platform.ts';
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
  return { openMs, found, ms, cpuMs: (user + system) / 1000, residentBytes: resident };
}

process.once('message', (ask: Ask) => {
  void answer(ask).then((answered) => {
    process.send?.(answered);
    process.disconnect();
  });
});
