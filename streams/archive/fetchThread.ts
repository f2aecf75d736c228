/** The thread of fetchAtOnce.ts. */
import { workerData } from 'node:worker_threads';
import { messageOf } from '../../base/index.ts';
import type { Fetched, FetchThread, Wanted } from './fetchAtOnce.ts';
import { ObjectStore } from './objectStore.ts';

const { port, answered } = workerData as FetchThread;
const flag = new Int32Array(answered);
const store = new ObjectStore();

async function fetched({ url, length }: Wanted): Promise<Fetched> {
  try {
    return { bytes: new Uint8Array(await store.get(url, length)) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

port.on('message', async (wanted: Wanted) => {
  port.postMessage(await fetched(wanted));
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
});
