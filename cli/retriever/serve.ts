/** `millrace retriever serve`: listens, opens the retriever, answers until it is interrupted. */

import { resolve } from 'node:path';
import { sleepClock } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import { type RetrieverPlace, retrieverAt } from '../../jobs/tools/index.ts';
import { type FusionMethod, qdrantPlace } from '../../operators/tools/retrieval/index.ts';
import { exitCodes } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { qdrantKey } from './qdrantKey.ts';
import { serveRetriever, shownError } from './service.ts';

export interface ServeOptions {
  readonly index: string;
  readonly corpus?: string;
  readonly fusion?: FusionMethod;
  readonly denseWeight: number;
  readonly encoder?: string;
  readonly port: number;
  readonly host: string;
  /** False for `--no-token`. */
  readonly token: boolean;
  readonly top: number;
  /** Seconds. */
  readonly timeout: number;
  readonly batch: number;
  readonly concurrency: number;
  readonly queue: number;
}

export async function serveCommand(options: ServeOptions, io: Io): Promise<number> {
  const { host, port, top, timeout, batch, concurrency, queue } = options;
  const interrupted = interruption(
    io,
    'finishing accepted requests; press Ctrl-C again to stop at once',
  );
  try {
    const service = await serveRetriever({
      ...{ host, port, top, timeoutMs: timeout * 1000 },
      ...{ batchMax: batch, batchesMax: concurrency, waitingMax: queue },
      token: options.token ? (process.env.MILLRACE_RETRIEVER_TOKEN?.trim() ?? '') : null,
      clock: sleepClock(io.clock),
      failed: (error) => io.err(shownError(error)),
    });
    const ended = new Promise<void>((end) => {
      interrupted.signal.addEventListener('abort', () => end(), { once: true });
    });
    try {
      io.err(`opening ${options.index}; ${service.url} answers queries once it is open`);
      const retriever = await retrieverAt(placeOf(options, io), interrupted.signal);
      service.opened(retriever);
      io.err(`serving ${counted(retriever.passages, 'passage')} at ${service.url}/retrieve`);
      await ended;
    } catch (error) {
      if (!interrupted.signal.aborted) throw error;
    } finally {
      await service.end();
    }
    return exitCodes.done;
  } finally {
    interrupted.release();
  }
}

function placeOf(options: ServeOptions, { cwd, clock }: Io): RetrieverPlace {
  const { index, corpus = '', encoder = '', denseWeight } = options;
  const at = (path: string): string => (path === '' ? '' : resolve(cwd, path));
  return {
    index: qdrantPlace(index) === null ? at(index) : index,
    corpus: at(corpus),
    encoder: at(encoder),
    // A corpus is only read to search it.
    fusion: options.fusion ?? (corpus === '' ? 'none' : 'rrf'),
    ...{ denseWeight, key: qdrantKey(), clock: sleepClock(clock) },
  };
}
