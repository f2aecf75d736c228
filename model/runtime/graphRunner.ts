/**
 * Runs graphs in a worker thread, so that the caller's event loop stays free.
 *
 * For graphs whose feeds are small (tests, scoring of a few sequences): feeds and outputs are copied between the
 * threads. Trainer and decoder keep their weights inside workers of their own instead.
 */
import type { Feeds, Session, SessionOptions } from './session.ts';
import { startWorker, workerEntry } from './worker.ts';

export interface GraphRunner {
  open(model: Uint8Array, options: SessionOptions): Promise<Session>;
  close(): Promise<void>;
}

export function graphRunner(): GraphRunner {
  const worker = startWorker(workerEntry('graphWorker', import.meta.url));
  return {
    async open(model, options) {
      const id = await worker.call<number>('open', { model, options });
      return {
        run: (feeds) => worker.call<Feeds>('run', { id, feeds }),
        release: () => worker.call<void>('release', { id }),
      };
    },
    close: () => worker.close(),
  };
}
