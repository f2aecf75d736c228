/**
 * Questions in files that appear in a folder: CSV, JSON Lines, JSON or Parquet, each read once it has stopped
 * changing.
 *
 * Each file has a cursor: how many of its rows are taken, a digest of those rows, and size and time of a file
 * that is read to its end. A file that changes later is read again: from after those rows if it still
 * begins with them, so that what was added is asked, and from its first row if another file has the name.
 * Files are taken in the order of their names, one row in memory at a time. Hidden files and those that
 * others are still writing (`.tmp`, `.part`, `~`) are left alone, as are folders within it.
 */
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { hasCode } from '../../base/index.ts';
import type { Opening, ResumableItem } from '../../streams/index.ts';
import { deadRow, fileKinds, kindOf, openRows } from '../openRows.ts';
import type { QuestionRow } from '../questionRow.ts';
import { questionsFileError } from '../rawRow.ts';
import { arrival } from './arrival.ts';
import type { EndlessQuestions } from './endlessQuestions.ts';
import type { FollowOptions } from './followFile.ts';

const POLL_MS = 500;
/** Names of removed files, so that a file which comes back under one counts as a new file. */
const GONE_MAX = 1000;

const placeForm = z.object({
  /** Rows taken. */
  rows: z.int().nonnegative(),
  /** Of the rows taken; older cursors have none. */
  digest: z.string().optional(),
  /** How many files had the name before this one. */
  before: z.int().nonnegative().default(0),
  /** The file's state once it was read to its end; null before. */
  whole: z.object({ size: z.number(), ms: z.number(), inode: z.number().optional() }).nullable(),
});
type FilePlace = z.infer<typeof placeForm>;
type Look = NonNullable<FilePlace['whole']>;

/** Follows a folder, which must exist. */
export function followFolder(folder: string, options: FollowOptions): EndlessQuestions {
  return {
    kind: 'resumable',
    name: folder,
    open: (opening) => new Folder(folder, options, opening).items(),
  };
}

class Folder {
  readonly #folder: string;
  readonly #options: FollowOptions;
  readonly #opening: Opening;
  /** Of the existing files. */
  readonly #places = new Map<string, FilePlace>();
  /** For removed files: how many had the name. The newest only. */
  readonly #gone = new Map<string, number>();
  /** The files' state at the last check. */
  #looks = new Map<string, Look>();

  constructor(folder: string, options: FollowOptions, opening: Opening) {
    this.#folder = folder;
    this.#options = options;
    this.#opening = opening;
  }

  async *items(): AsyncGenerator<ResumableItem<QuestionRow>, void> {
    const { clock, pollMs = POLL_MS } = this.#options;
    const { signal } = this.#opening;
    while (!signal.aborted) {
      for (const [name, look] of await this.#ready()) {
        yield* this.#read(name, look);
        if (signal.aborted) return;
      }
      await clock.sleep(pollMs, signal).catch(() => undefined);
    }
  }

  /** Files with something new that have not changed since the last check. */
  async #ready(): Promise<readonly (readonly [name: string, look: Look])[]> {
    const before = this.#looks;
    this.#looks = new Map();
    const ready: [string, Look][] = [];
    for (const name of await this.#names()) {
      const entry = await stat(join(this.#folder, name)).catch(() => null);
      if (entry?.isFile() !== true) continue;
      const look = { size: entry.size, ms: entry.mtimeMs, inode: entry.ino };
      this.#looks.set(name, look);
      const { whole } = await this.#place(name);
      if (!same(whole, look) && same(before.get(name), look)) ready.push([name, look]);
    }
    for (const [name, { before: files }] of this.#places) {
      if (this.#looks.has(name)) continue;
      this.#places.delete(name);
      this.#gone.delete(name);
      this.#gone.set(name, files + 1);
      if (this.#gone.size > GONE_MAX) this.#gone.delete(this.#gone.keys().next().value!);
    }
    return ready;
  }

  async #names(): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch((error: Error) => {
      throw questionsFileError(`cannot read the folder ${this.#folder}: ${error.message}`, error);
    });
    return names.filter((name) => !name.startsWith('.') && fileKinds.includes(kindOf(name))).sort();
  }

  async #place(name: string): Promise<FilePlace> {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    const place = this.#gone.has(name)
      ? beginning(this.#gone.get(name)!)
      : await this.#opening
          .cursor(name)
          .then((cursor) => (cursor === null ? beginning(0) : placeForm.parse(JSON.parse(cursor))));
    this.#places.set(name, place);
    return place;
  }

  async *#read(name: string, look: Look): AsyncGenerator<ResumableItem<QuestionRow>, void> {
    const path = join(this.#folder, name);
    const source = name.slice(0, -kindOf(name).length);
    const taken = await this.#place(name);
    const hash = createHash('sha256');
    const digest = () => hash.copy().digest('hex').slice(0, 32);
    let rows = 0;
    try {
      const file = await openRows(path, 'questions file', () => null);
      for await (const row of file.rows) {
        if (this.#opening.signal.aborted) return;
        rows += 1;
        hash.update(JSON.stringify(row));
        if (rows === taken.rows && digest() !== (taken.digest ?? digest())) break;
        if (rows <= taken.rows) continue;
        const { before } = taken;
        const unique = `${name}${before === 0 ? '' : `#${before}`}:${rows}`;
        const place = { origin: path, source, unique, text: file.text };
        const at = this.#moved(name, { rows, digest: digest(), before, whole: null });
        yield { ...arrival(row, place, this.#options), at };
      }
    } catch (error) {
      if (!hasCode(error, 'QUESTIONS_FILE')) throw error;
      const fault = { field: '', key: '', reason: error.message };
      const at = this.#moved(name, { ...taken, whole: look });
      yield { ...deadRow(path, { place: rows, payload: '' }, fault), at };
      return;
    }
    const isOther =
      rows < taken.rows || (rows === taken.rows && digest() !== (taken.digest ?? digest()));
    if (isOther) {
      this.#places.set(name, beginning(taken.before + 1));
      yield* this.#read(name, look);
      return;
    }
    yield {
      at: this.#moved(name, { rows, digest: digest(), before: taken.before, whole: look }),
    };
  }

  #moved(name: string, place: FilePlace): Readonly<Record<string, string>> {
    this.#places.set(name, place);
    return { [name]: JSON.stringify(place) };
  }
}

const beginning = (before: number): FilePlace => ({ rows: 0, before, whole: null });

function same(one: Look | null | undefined, other: Look): boolean {
  const inode = one?.inode ?? other.inode;
  return one?.size === other.size && one.ms === other.ms && inode === other.inode;
}
