/**
 * Builds the graphs of an index, one per stretch of passages, several at once, each in its own thread.
 */
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startWorker, workerEntry } from '../../../base/index.ts';
import type { GraphForm } from './graph.ts';
import type { GraphStretch } from './graphWorker.ts';
import { type Manifest, VECTORS } from './manifest.ts';

export interface GraphsOptions extends GraphForm {
  readonly passages: number;
  /** Limit of vectors per graph: each thread has this many in memory while building it. */
  readonly passagesMax: number;
  /** Graphs built at once. */
  readonly threads: number;
  readonly signal: AbortSignal;
  /** Called with the number of passages in graphs. */
  readonly onProgress: (done: number) => void;
}

export type Graphs = Manifest['graphs'];

/** Vectors added per call: a second or so. */
const ADDED = 2000;

/** The stretches, as even as possible. */
export function stretches(passages: number, passagesMax: number): Graphs {
  const count = Math.ceil(passages / passagesMax);
  const start = (index: number): number => Math.floor((index * passages) / count);
  return Array.from({ length: count }, (_, index) => {
    const [from, end] = [start(index), start(index + 1)];
    // So that files of a build with other stretches are not taken for these.
    return { file: `graph-${from}-${end}.usearch`, from, passages: end - from };
  });
}

/**
 * Builds those whose files are missing. Rejects with the signal's reason if it aborts; what is built stays.
 */
export async function buildGraphs(
  folder: string,
  there: ReadonlySet<string>,
  options: GraphsOptions,
): Promise<Graphs> {
  const graphs = stretches(options.passages, options.passagesMax);
  let done = 0;
  const add = (count: number): void => {
    done += count;
    options.onProgress(done);
  };
  const missing = graphs.filter(({ file, passages }) => {
    if (there.has(file)) add(passages);
    return !there.has(file);
  });
  const one = async (): Promise<void> => {
    for (let next = missing.shift(); next !== undefined; next = missing.shift())
      await build(folder, next, options, add);
  };
  const workers = Array.from({ length: Math.min(options.threads, missing.length) }, one);
  const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  return graphs;
}

async function build(
  folder: string,
  { file, from, passages }: Graphs[number],
  { dimensions, normalised, signal }: GraphsOptions,
  add: (count: number) => void,
): Promise<void> {
  const worker = startWorker(workerEntry('graphWorker', import.meta.url));
  try {
    await worker.call('open', { dimensions, normalised } satisfies GraphForm);
    for (let at = 0; at < passages; at += ADDED) {
      signal.throwIfAborted();
      const count = Math.min(ADDED, passages - at);
      const stretch: GraphStretch = { vectors: join(folder, VECTORS), from: from + at, count };
      await worker.call('add', stretch);
      add(count);
    }
    const beside = join(folder, `${file}.new`);
    await rm(beside, { force: true });
    await worker.call('save', beside);
    await rename(beside, join(folder, file));
  } finally {
    await worker.close();
  }
}
