/**
 * Replies of text models on disk, by key: one lmdb file, which many processes may read while one writes.
 *
 * A reply is on disk before `put` resolves. Nothing is held in memory but the pages that the kernel keeps.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { crc32 } from '../../base/crc32.ts';
import { MillraceError } from '../../base/errors.ts';
import { lmdbDamage, mappedFile } from '../../base/lmdbFile.ts';

/** Replies by key. `get` gives undefined where nothing is kept; `put` resolves when the reply is on disk. */
export interface ReplyStore {
  get(key: string): string | undefined;
  put(key: string, reply: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens the file at `path`, or makes it. Fails with code `DAMAGED` when it was cut short or changed, and so does `get`. */
export function openReplies(path: string): ReplyStore {
  mkdirSync(dirname(path), { recursive: true });
  const why = existsSync(path) && statSync(path).size > 0 ? lmdbDamage(path) : null;
  if (why !== null) throw damaged(path, why);
  const file: RootDatabase<string, string> = open({
    path,
    noSubdir: true,
    encoding: 'string',
    overlappingSync: false,
  });
  const mapped = mappedFile(path);
  const mustBeThere = (): void => {
    const since = mapped.damage();
    if (since !== null) throw damaged(path, since);
  };
  return {
    get(key) {
      mustBeThere();
      const kept = file.get(checked(key));
      if (kept === undefined) return file.get(key); // from before there was a checksum
      const reply = kept.slice(SUM_LENGTH);
      if (kept.slice(0, SUM_LENGTH) === sumOf(reply)) return reply;
      throw damaged(path, 'holds a reply that is not what was kept');
    },
    async put(key, reply) {
      mustBeThere();
      await file.put(checked(key), sumOf(reply) + reply);
    },
    async close() {
      mapped.close();
      await file.close();
    },
  };
}

/** Under this key lies the reply's checksum, then the reply. */
const checked = (key: string): string => `${key}/checked`;
const SUM_LENGTH = 8;

function sumOf(reply: string): string {
  return crc32(Buffer.from(reply), 0).toString(16).padStart(SUM_LENGTH, '0');
}

function damaged(path: string, why: string): MillraceError {
  return new MillraceError(
    'DAMAGED',
    `${path} ${why}: restore it from a backup, or delete it; what it held is then asked for again`,
    { context: { path } },
  );
}
