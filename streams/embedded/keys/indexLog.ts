/**
 * Rebuilds the index by key of a log from its records: for a log that an older millrace wrote, one whose
 * index was changed, and a fork.
 *
 * It follows the steps of the append, so that the result continues as it would have. If it is
 * interrupted, and for a record that cannot be read, the index lacks something, and a search for a key reads
 * those records.
 */
import type { Topic } from '../../topic.ts';
import { Schemas } from '../schemas.ts';
import { Store } from '../store.ts';
import { takeWriterLock } from '../writerLock.ts';
import { hashesOf } from './entries.ts';
import { KeyWriter } from './keyWriter.ts';

/** Records that go into one transaction. */
const CHUNK = 1024;

export interface IndexOptions {
  /** Called after every step with the number of records done and in all. */
  readonly progress?: (done: number, all: number) => void;
  readonly signal?: AbortSignal;
}

/** Fails with code `LOCKED` if a process writes the log. Resolves with the number of records. */
export async function indexLog(
  folder: string,
  topics: readonly Topic<unknown>[],
  options: IndexOptions = {},
): Promise<number> {
  await new Store(folder, 'read').close(); // fails if there is no log
  const store = new Store(folder, 'write');
  try {
    const unlock = takeWriterLock(folder, store);
    try {
      return await indexStore(store, topics, options);
    } finally {
      unlock();
    }
  } finally {
    await store.close();
  }
}

/** Indexes these topics. */
export async function indexStore(
  store: Store,
  known: readonly Topic<unknown>[],
  { progress = () => undefined, signal }: IndexOptions = {},
): Promise<number> {
  const schemas = new Schemas(store);
  const heads = new Map(store.heads());
  const topics = known.map((topic) => ({ topic, end: heads.get(topic.name)?.end ?? 0 }));
  const all = topics.reduce((sum, { end }) => sum + end, 0);
  let done = 0;
  for (const { topic, end } of topics) {
    await store.write((writes) => writes.clearKeys(topic.name));
    const writer = new KeyWriter(store);
    for (let from = 0; from < end && signal?.aborted !== true; from += CHUNK) {
      const to = Math.min(end, from + CHUNK);
      const change = writer.change();
      await store.write((writes) => {
        for (let offset = from; offset < to; offset++) {
          const hashes = hashesAt(store, schemas, topic, offset);
          change.add(writes, { topic: topic.name, offset, hashes }, () => []);
        }
        change.write(writes);
      });
      writer.apply(change);
      done += to - from;
      progress(done, all);
    }
  }
  return done;
}

/** Null if the record cannot be read. */
function hashesAt(
  store: Store,
  schemas: Schemas,
  topic: Topic<unknown>,
  offset: number,
): readonly number[] | null {
  try {
    const { schema, body } = store.record(topic.name, offset)!;
    return hashesOf(topic, schemas.decoder(topic, schema)(body));
  } catch {
    return null;
  }
}
