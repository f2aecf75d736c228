/** The worker of passWorker.ts, as calls. */

import { startWorker, type WorkerHandle, workerEntry } from '../../base/index.ts';
import type { Loss } from '../engine.ts';
import type { PassReport, Plan } from './passes.ts';
import type { OpenBatch, ReadReply, WriteBody, WriteScore } from './passWorker.ts';

export class PassHandle {
  readonly #worker: WorkerHandle = startWorker(workerEntry('passWorker', import.meta.url));

  check(loss: Loss): Promise<void> {
    return this.#worker.call('check', loss);
  }

  open(batch: OpenBatch): Promise<Plan> {
    return this.#worker.call('open', batch);
  }

  forward(write: WriteBody): Promise<Uint8Array> {
    return this.#worker.call('forward', write);
  }

  took(read: ReadReply): Promise<boolean> {
    return this.#worker.call('took', read, [read.bytes.buffer as ArrayBuffer]);
  }

  backward(write: WriteBody): Promise<Uint8Array> {
    return this.#worker.call('backward', write);
  }

  finished(read: ReadReply): Promise<boolean> {
    return this.#worker.call('finished', read, [read.bytes.buffer as ArrayBuffer]);
  }

  report(): Promise<PassReport> {
    return this.#worker.call('report');
  }

  scoreBody(write: WriteScore): Promise<Uint8Array> {
    return this.#worker.call('scoreBody', write);
  }

  /** Log-probs of the places of a `forward`'s datums; `lengths` = places of each. */
  scores(bytes: Uint8Array, lengths: readonly number[]): Promise<readonly Float32Array[]> {
    return this.#worker.call('scores', { bytes, lengths }, [bytes.buffer as ArrayBuffer]);
  }

  close(): Promise<void> {
    return this.#worker.close();
  }
}
