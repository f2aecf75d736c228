/**
 * Opens what `millrace retriever build` wrote.
 *
 * Search runs in a worker thread, encoding in another; the passages' texts stay on the disk. The queries of a
 * call are one batch (batches.ts makes one of those of many callers).
 */
import { join } from 'node:path';
import { halfOfThem, startWorker, workerEntry } from '../../../base/index.ts';
import type { OpenEncoder, TextEncoder } from '../../../model/encoder/index.ts';
import { checkFiles, MANIFEST, type Manifest, readManifest, VECTORS } from './manifest.ts';
import type { Hit, Retriever } from './retriever.ts';
import { retrieverError } from './retrieverError.ts';
import type { OpenSearch, SearchCall } from './searchWorker.ts';

export interface RetrieverOptions {
  /** Opens the encoder of the queries: `openEncoder` of `model/encoder`. */
  readonly openEncoder: OpenEncoder;
  /** The encoder's folder, if it has moved since the index was built. */
  readonly encoder?: string;
  /** Threads for search, and as many for encoding (default: half of those there are, at least one). */
  readonly threads?: number;
  /** Whether to check every file's digest, not only those of the graphs. */
  readonly verify?: boolean;
}

/**
 * A retriever over an index's folder. Fails with code `RETRIEVER`, naming the file, if it is missing or
 * damaged, or if the encoder is not the one that the index was built with.
 */
export async function openRetriever(
  folder: string,
  { openEncoder, encoder: at, verify = false, threads = halfOfThem() }: RetrieverOptions,
): Promise<Retriever> {
  const manifest = await readManifest(folder);
  await checkFiles(folder, manifest, verify);
  const encoder = await encoderOf(folder, manifest, { openEncoder, at, threads });
  try {
    return await retriever(folder, manifest, encoder, threads);
  } catch (error) {
    await encoder.close();
    throw error;
  }
}

async function encoderOf(
  folder: string,
  { encoder: { folder: before, digest, settings } }: Manifest,
  {
    openEncoder,
    at,
    threads,
  }: { openEncoder: OpenEncoder; at?: string | undefined; threads: number },
): Promise<TextEncoder> {
  const path = join(folder, MANIFEST);
  const encoder = await openEncoder(at ?? before, { ...settings, threads }).catch(
    (cause: unknown) => {
      if (at !== undefined) throw cause;
      throw retrieverError(
        `${path}: the encoder that the index was built with cannot be opened at ${before} (${(cause as Error).message}); ` +
          'name its new place with --encoder FOLDER',
        path,
        cause,
      );
    },
  );
  if (encoder.digest === digest) return encoder;
  await encoder.close();
  throw retrieverError(
    `${path}: the index was built with a different encoder from the one at ${at ?? before} (its weights or tokenizer differ): ` +
      'name the right folder with --encoder FOLDER, or build the index again',
    path,
  );
}

async function retriever(
  folder: string,
  manifest: Manifest,
  encoder: TextEncoder,
  threads: number,
): Promise<Retriever> {
  const { passages, dimensions } = manifest;
  const worker = startWorker(workerEntry('searchWorker', import.meta.url));
  try {
    await worker.call('open', {
      ...{
        folder,
        passages,
        dimensions,
        threads,
        normalised: manifest.encoder.settings.normalised,
      },
      vectors: join(folder, VECTORS),
      graphs: manifest.graphs.map(({ file }) => join(folder, file)),
    } satisfies OpenSearch);
  } catch (error) {
    await worker.close();
    throw error;
  }
  return {
    passages,
    async retrieve(queries, top, signal) {
      if (!(Number.isInteger(top) && top >= 1))
        throw new RangeError(`retrieve: top is ${top}; give a whole number, 1 or more`);
      if (queries.length === 0) return [];
      const vectors = await encoder.encode(queries, 'query', signal);
      const call: SearchCall = { queries: vectors, top: Math.min(top, passages) };
      const found = await worker.call<Hit[][]>('search', call);
      signal.throwIfAborted();
      return found;
    },
    async close() {
      await worker.close();
      await encoder.close();
    },
  };
}
