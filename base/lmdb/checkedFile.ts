/**
 * Texts by key in one lmdb file, each with a checksum. Many processes may read and write it at once.
 *
 * A text is on disk before `put` resolves. Damage is reported when the file is opened or used; a damaged text
 * is never returned. Only the kernel's pages are in memory.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { crc32 } from '../crc32.ts';
import { MillraceError } from '../errors.ts';
import { writingTo } from '../system/systemError.ts';
import { lmdbDamage, mappedFile } from './lmdbFile.ts';

/** Texts by key. Keys have at most a few hundred bytes. */
export interface CheckedFile {
  /** Undefined if there is none. Fails with code `DAMAGED`. */
  get(key: string): string | undefined;
  /** The raw entry, for texts written before there were checksums. */
  plain(key: string): string | undefined;
  put(key: string, text: string): Promise<void>;
  remove(key: string): Promise<void>;
  /** In key order. */
  keys(): Iterable<string>;
  close(): Promise<void>;
}

/**
 * Opens or creates the file at `path`. Fails with code `DAMAGED` if it was cut short or changed; `text` names
 * an entry in messages: `a reply`.
 */
export function openCheckedFile(path: string, text: string): CheckedFile {
  mkdirSync(dirname(path), { recursive: true });
  const damaged = (why: string): MillraceError =>
    new MillraceError(
      'DAMAGED',
      `${path} ${why}: restore it from a backup, or delete it, and its contents will be requested again`,
      {
        context: { path },
      },
    );
  const why = existsSync(path) && statSync(path).size > 0 ? lmdbDamage(path) : null;
  if (why !== null) throw damaged(why);
  const file: RootDatabase<string, string> = open({
    path,
    noSubdir: true,
    encoding: 'string',
    overlappingSync: false,
  });
  const mapped = mappedFile(path);
  const mustBeThere = (): void => {
    const since = mapped.damage();
    if (since !== null) throw damaged(since);
  };
  return {
    get(key) {
      mustBeThere();
      const kept = file.get(key);
      if (kept === undefined) return undefined;
      const said = kept.slice(SUM_LENGTH);
      if (kept.slice(0, SUM_LENGTH) === sumOf(said)) return said;
      throw damaged(`holds ${text} whose checksum does not match`);
    },
    plain(key) {
      mustBeThere();
      return file.get(key);
    },
    async put(key, said) {
      mustBeThere();
      await writingTo(path, () => file.put(key, sumOf(said) + said));
    },
    async remove(key) {
      mustBeThere();
      await file.remove(key);
    },
    keys() {
      mustBeThere();
      return file.getKeys();
    },
    async close() {
      mapped.close();
      await file.close();
    },
  };
}

/** Characters of the checksum before a text. */
const SUM_LENGTH = 8;

function sumOf(text: string): string {
  return crc32(Buffer.from(text), 0).toString(16).padStart(SUM_LENGTH, '0');
}
