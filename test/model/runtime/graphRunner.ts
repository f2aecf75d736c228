/**
 * Runs graphs in a worker thread: in jest's realm onnxruntime does not know typed arrays. Feeds and outputs
 * are copied between the threads.
 */

import { startWorker, workerEntry } from '../../../base/worker.ts';
import type { Feeds, Session, SessionOptions } from '../../../model/runtime/session.ts';

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
