/**
 * Questions in files that appear in a folder: CSV, JSON Lines, JSON or Parquet, each read once it has stopped changing.
 *
 * Each file has a cursor: how many of its rows are taken, and size and time of a file that is read to its end. A file that
 * changes later is read again from behind those rows, so what was added to it is asked. Files are taken in the order of their
 * names, one row in memory at a time. Hidden files and those that others are still writing (`.tmp`, `.part`, `~`) are left alone,
 * and folders within it too.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { hasCode } from '../../base/errors.ts';
import type { Opening, PlacedItem } from '../../streams/resumable.ts';
import { deadRow, fileKinds, kindOf, openRows } from '../openRows.ts';
import type { QuestionRow } from '../questionRow.ts';
import { questionsFileError } from '../rawRow.ts';
import { arrival } from './arrival.ts';
import type { EndlessQuestions } from './endlessQuestions.ts';
import type { FollowOptions } from './followFile.ts';

const POLL_MS = 500;

const placeForm = z.object({
  /** Rows that are taken. */
  rows: z.int().nonnegative(),
  /** As the file was when it had been read to its end; null before. */
  whole: z.object({ size: z.number(), ms: z.number() }).nullable(),
});
type FilePlace = z.infer<typeof placeForm>;
type Look = NonNullable<FilePlace['whole']>;

/** Follows a folder, which must be there. */
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
  /** Of the files that are there. */
  readonly #places = new Map<string, FilePlace>();
  /** As files were at the last look. */
  #looks = new Map<string, Look>();

  constructor(folder: string, options: FollowOptions, opening: Opening) {
    this.#folder = folder;
    this.#options = options;
    this.#opening = opening;
  }

  async *items(): AsyncGenerator<PlacedItem<QuestionRow>, void> {
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

  /** Files with something new in them that are as they were at the last look. */
  async #ready(): Promise<readonly (readonly [name: string, look: Look])[]> {
    const before = this.#looks;
    this.#looks = new Map();
    const ready: [string, Look][] = [];
    for (const name of await this.#names()) {
      const entry = await stat(join(this.#folder, name)).catch(() => null);
      if (entry?.isFile() !== true) continue;
      const look = { size: entry.size, ms: entry.mtimeMs };
      this.#looks.set(name, look);
      const { whole } = await this.#place(name);
      if (!same(whole, look) && same(before.get(name), look)) ready.push([name, look]);
    }
    for (const name of this.#places.keys()) if (!this.#looks.has(name)) this.#places.delete(name);
    return ready;
  }

  async #names(): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch((error: Error) => {
      throw questionsFileError(
        `the folder ${this.#folder} cannot be read: ${error.message}`,
        error,
      );
    });
    return names.filter((name) => !name.startsWith('.') && fileKinds.includes(kindOf(name))).sort();
  }

  async #place(name: string): Promise<FilePlace> {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    const cursor = await this.#opening.cursor(name);
    const place = cursor === null ? { rows: 0, whole: null } : placeForm.parse(JSON.parse(cursor));
    this.#places.set(name, place);
    return place;
  }

  async *#read(name: string, look: Look): AsyncGenerator<PlacedItem<QuestionRow>, void> {
    const path = join(this.#folder, name);
    const source = name.slice(0, -kindOf(name).length);
    const { rows: taken } = await this.#place(name);
    let rows = 0;
    try {
      const file = await openRows(path, 'questions file', () => null);
      for await (const row of file.rows) {
        if (this.#opening.signal.aborted) return;
        rows += 1;
        if (rows <= taken) continue;
        const place = { origin: path, source, unique: `${name}:${rows}`, text: file.text };
        yield {
          ...arrival(row, place, this.#options),
          at: this.#moved(name, { rows, whole: null }),
        };
      }
    } catch (error) {
      if (!hasCode(error, 'QUESTIONS_FILE')) throw error;
      const fault = { field: '', key: '', reason: error.message };
      const at = this.#moved(name, { rows: taken, whole: look });
      yield { ...deadRow(path, { place: rows, payload: '' }, fault), at };
      return;
    }
    yield { at: this.#moved(name, { rows: Math.max(rows, taken), whole: look }) };
  }

  #moved(name: string, place: FilePlace): Readonly<Record<string, string>> {
    this.#places.set(name, place);
    return { [name]: JSON.stringify(place) };
  }
}

function same(one: Look | null | undefined, other: Look): boolean {
  return one?.size === other.size && one.ms === other.ms;
}
