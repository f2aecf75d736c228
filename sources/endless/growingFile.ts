/**
 * The lines of a file that grows, as `tail -F` follows it: through rotation and truncation, from a place on.
 *
 * A line counts once it is complete. A file is recognised by its beginning, because rotation renames it,
 * copies it, or empties it, and numbers of files are used again. Once another file has the name, the old one
 * is read until it rests, and its last line counts without a line end. After a restart the place is looked
 * for in the file of that name and in those that rotation makes of it (`my.jsonl.1`, `my.jsonl-20261123`,
 * `my-1.jsonl`), and what came since is read in order.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { z } from 'zod';
import { MillraceError, type SleepClock, systemCode } from '../../base/index.ts';
import { type Line, LineSplitter } from '../lines.ts';

/** The place after a line: the file, recognised by its first bytes, and how far it is read. */
export interface FilePlace {
  /** Digest of the first `headBytes` bytes. */
  readonly head: string;
  readonly headBytes: number;
  readonly bytes: number;
  readonly lines: number;
}

/** A line and the place after it; or a `gap`: what was written after the last place cannot be found. */
export type Grown =
  | { readonly line: Line; readonly path: string; readonly place: FilePlace }
  | { readonly gap: FilePlace; readonly path: string; readonly place: FilePlace };

export interface GrowingFileOptions {
  readonly clock: SleepClock;
  readonly signal: AbortSignal;
  /** How often to check a file at rest. */
  readonly pollMs?: number;
}

const POLL_MS = 250;
/** How many checks must find a renamed file unchanged before the next file is read. */
const RESTS = 8;
const CHUNK_BYTES = 64 * 1024;
const HEAD_BYTES = 256;
const BEGINNING = { head: '', headBytes: 0, bytes: 0, lines: 0 };

const placeForm = z.object({
  head: z.string(),
  headBytes: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  lines: z.int().nonnegative(),
});

/** A place as a cursor. */
export const writtenPlace = (place: FilePlace): string => JSON.stringify(place);
export const readPlace = (cursor: string): FilePlace => placeForm.parse(JSON.parse(cursor));

/** The lines after `last` (null = from the beginning), and those that come, until the signal aborts. */
export async function* growingFile(
  path: string,
  last: FilePlace | null,
  { clock, signal, pollMs = POLL_MS }: GrowingFileOptions,
): AsyncGenerator<Grown, void> {
  const rest = () =>
    clock.sleep(pollMs, signal).then(
      () => true,
      () => false,
    );
  let file: OpenFile | null = null;
  try {
    if (last !== null && last.bytes > 0) {
      const found = await holding(path, last);
      if (found === null) yield { gap: last, path, place: BEGINNING };
      else file = await OpenFile.at(found, last);
    }
    while (!signal.aborted) {
      file ??= await OpenFile.at(path, BEGINNING);
      if (file === null) {
        if (!(await rest())) return;
        continue;
      }
      yield* file.grown(signal);
      if (signal.aborted) return;
      if (await file.isEmptied()) {
        const copy = await holding(path, file.place, file.path);
        await file.close();
        file = copy === null ? null : await OpenFile.at(copy, file.place);
        continue;
      }
      if (await file.isReplaced(path)) {
        yield* file.rest();
        const next = await nextOf(path, file);
        await file.close();
        file = await OpenFile.at(next, BEGINNING);
        continue;
      }
      if (!(await rest())) return;
    }
  } finally {
    await file?.close();
  }
}

/** A file being read. */
class OpenFile {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #splitter: LineSplitter;
  readonly #buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  #place: FilePlace;
  /** Bytes read, including those of an incomplete last line. */
  #read: number;
  #restsLeft = RESTS;

  private constructor(path: string, handle: FileHandle, place: FilePlace) {
    this.path = path;
    this.#handle = handle;
    this.#place = place;
    this.#read = place.bytes;
    this.#splitter = new LineSplitter({ number: place.lines + 1 });
  }

  /** Null if there is none. */
  static async at(path: string, place: FilePlace): Promise<OpenFile | null> {
    const handle = await open(path, 'r').catch(noneWhereMissing);
    if (handle === null) return null;
    if (!(await handle.stat()).isFile()) {
      await handle.close();
      throw new MillraceError('QUESTIONS_FILE', `${path} is not a regular file`);
    }
    return new OpenFile(path, handle, place);
  }

  /** After the last complete line. */
  get place(): FilePlace {
    return this.#place;
  }

  /** What has been written since. */
  async *grown(signal: AbortSignal): AsyncGenerator<Grown, void> {
    while (!signal.aborted && !(await this.isEmptied())) {
      const { bytesRead } = await this.#handle.read(this.#buffer, 0, CHUNK_BYTES, this.#read);
      if (bytesRead === 0) return;
      this.#restsLeft = RESTS;
      this.#read += bytesRead;
      // A copy: lines without an end yet stay.
      const chunk = Buffer.from(this.#buffer.subarray(0, bytesRead));
      for (const { line, bytes } of this.#splitter.push(chunk))
        yield await this.#behind(line, bytes);
    }
  }

  /** The last line, even though it has no end. */
  async *rest(): AsyncGenerator<Grown, void> {
    const last = this.#splitter.rest();
    if (last !== null) yield await this.#behind(last.line, last.bytes);
  }

  /** Whether it is now shorter than what was read, or begins differently. */
  async isEmptied(): Promise<boolean> {
    const { size } = await this.#handle.stat();
    return (
      size < this.#read || (await headOf(this.#handle, this.#place.headBytes)) !== this.#place.head
    );
  }

  /** Whether another file has had the name for a while and this one has not changed. */
  async isReplaced(path: string): Promise<boolean> {
    const named = await stat(path).catch(noneWhereMissing);
    const own = await this.#handle.stat();
    if (named === null || (named.ino === own.ino && named.dev === own.dev)) return false;
    this.#restsLeft -= 1;
    return this.#restsLeft <= 0;
  }

  writtenMs(): Promise<number> {
    return this.#handle.stat().then(({ mtimeMs }) => mtimeMs);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #behind(line: Line, bytes: number): Promise<Grown> {
    const { lines } = this.#place;
    const at = this.#place.bytes + bytes;
    const headBytes = Math.min(HEAD_BYTES, at);
    const head =
      headBytes === this.#place.headBytes
        ? this.#place.head
        : await headOf(this.#handle, headBytes);
    this.#place = { head, headBytes, bytes: at, lines: lines + 1 };
    return { line, path: this.path, place: this.#place };
  }
}

/** Digest of the first bytes, or of all if there are fewer. */
async function headOf(handle: FileHandle, bytes: number): Promise<string> {
  if (bytes === 0) return '';
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, 0);
  return createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex').slice(0, 32);
}

/** The file of that name, or one that rotation made from it, that contains the place; never `except`. */
async function holding(path: string, place: FilePlace, except = ''): Promise<string | null> {
  for (const candidate of [path, ...(await rotated(path))]) {
    if (candidate === except) continue;
    const handle = await open(candidate, 'r').catch(noneWhereMissing);
    if (handle === null) continue;
    try {
      const { size } = await handle.stat();
      if (size >= place.bytes && (await headOf(handle, place.headBytes)) === place.head) {
        return candidate;
      }
    } finally {
      await handle.close();
    }
  }
  return null;
}

/** The oldest rotated file that is newer than this one, or else the file of that name. */
async function nextOf(path: string, file: OpenFile): Promise<string> {
  const writtenMs = await file.writtenMs();
  const younger: { readonly path: string; readonly ms: number }[] = [];
  for (const candidate of await rotated(path)) {
    const entry = await stat(candidate).catch(noneWhereMissing);
    if (entry !== null && entry.mtimeMs > writtenMs) {
      younger.push({ path: candidate, ms: entry.mtimeMs });
    }
  }
  return younger.sort((a, b) => a.ms - b.ms)[0]?.path ?? path;
}

/** Files that rotation made from this one: a number or a date after its name, or before its ending. */
async function rotated(path: string): Promise<readonly string[]> {
  const folder = dirname(path);
  const name = basename(path);
  const ending = extname(name);
  const stem = basename(name, ending);
  const isRotated = (other: string): boolean =>
    (other.startsWith(name) && AGE.test(other.slice(name.length))) ||
    (other.startsWith(stem) &&
      other.endsWith(ending) &&
      AGE.test(other.slice(stem.length, other.length - ending.length)));
  const names = await readdir(folder).catch(noneWhereMissing);
  return (names ?? []).filter(isRotated).map((other) => join(folder, other));
}

const AGE = /^[._-]\d[\d._:T-]*$/;

function noneWhereMissing(error: unknown): null {
  if (systemCode(error) === 'ENOENT') return null;
  throw error;
}
