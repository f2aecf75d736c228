/**
 * Fetches an archived object synchronously. The log reads its records synchronously, and an archived record
 * may be in an object store. A second thread fetches it, and this one blocks until the answer is there: a few
 * milliseconds for a segment of a thousand records.
 */
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type Worker,
} from 'node:worker_threads';
import { threadOn, workerEntry } from '../../base/index.ts';

/** A request to the thread. */
export interface Wanted {
  readonly url: string;
  readonly length: number;
}

/** Its reply. */
export type Fetched = { readonly bytes: Uint8Array } | { readonly error: string };

/** Passed to the thread. */
export interface FetchThread {
  readonly port: MessagePort;
  /** Set to 1 once the port has an answer. */
  readonly answered: SharedArrayBuffer;
}

/** Longer than all attempts on the store and the pauses between them. */
const WAIT_MAX_MS = 700_000;

let thread: {
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly flag: Int32Array;
} | null = null;

function begun(): NonNullable<typeof thread> {
  if (thread !== null) return thread;
  const { port1, port2 } = new MessageChannel();
  const answered = new SharedArrayBuffer(4);
  const workerData: FetchThread = { port: port2, answered };
  const worker = threadOn(workerEntry('fetchThread', import.meta.url), {
    workerData,
    transferList: [port2],
  });
  worker.unref();
  port1.unref();
  thread = { worker, port: port1, flag: new Int32Array(answered) };
  return thread;
}

/** The object. Throws a readable reason if it cannot be fetched. */
export function fetchAtOnce(wanted: Wanted): Buffer {
  const { worker, port, flag } = begun();
  Atomics.store(flag, 0, 0);
  port.postMessage(wanted);
  const waited = Atomics.wait(flag, 0, 0, WAIT_MAX_MS);
  const fetched = receiveMessageOnPort(port)?.message as Fetched | undefined;
  if (fetched === undefined) {
    void worker.terminate();
    thread = null;
    throw new Error(`GET ${wanted.url} got no answer (${waited})`);
  }
  if ('error' in fetched) throw new Error(fetched.error);
  return Buffer.from(fetched.bytes);
}
