/**
 * Replies of text models on disk, by key: one lmdb file, which many processes may read while one writes.
 *
 * A reply is on disk before `put` resolves. Nothing is held in memory but the pages that the kernel keeps.
 */
import { openCheckedFile } from '../../base/lmdb/index.ts';

/** Replies by key. `get` gives undefined if nothing is kept; `put` resolves when the reply is on disk. */
export interface ReplyStore {
  get(key: string): string | undefined;
  put(key: string, reply: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the file at `path`, or makes it. Fails with code `DAMAGED` when it was cut short or changed, and so
 * does `get`.
 */
export function openReplies(path: string): ReplyStore {
  const file = openCheckedFile(path, 'a reply');
  return {
    // Without a checksum: from before there was one.
    get: (key) => file.get(checked(key)) ?? file.plain(key),
    put: (key, reply) => file.put(checked(key), reply),
    close: () => file.close(),
  };
}

/** The key of the reply with its checksum. */
const checked = (key: string): string => `${key}/checked`;
