/**
 * Replies of text models on disk, by key: one lmdb file, which many processes may read while one writes.
 *
 * A reply is on disk before `put` resolves. Nothing is held in memory but the pages that the kernel keeps.
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { open, type RootDatabase } from 'lmdb';

/** Replies by key. `get` gives undefined where nothing is kept; `put` resolves when the reply is on disk. */
export interface ReplyStore {
  get(key: string): string | undefined;
  put(key: string, reply: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens the file at `path`, or makes it. */
export function openReplies(path: string): ReplyStore {
  mkdirSync(dirname(path), { recursive: true });
  const file: RootDatabase<string, string> = open({
    path,
    noSubdir: true,
    encoding: 'string',
    overlappingSync: false,
  });
  return {
    get: (key) => file.get(key),
    async put(key, reply) {
      await file.put(key, reply);
    },
    close: () => file.close(),
  };
}
