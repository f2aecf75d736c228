/**
 * Unpacks a ZIP archive in bounded memory (fflate).
 *
 * Guarantees: no more than `UNPACKED_MAX` bytes come out of an archive, whatever it claims, and no part of it
 * is written to disk. Runs in a worker thread (pageWorker.ts).
 */
import { type UnzipFileFilter, unzipSync, zipSync } from 'fflate';

const MB = 2 ** 20;
/** For all entries together. */
const UNPACKED_MAX = 48 * MB;
const ENTRIES_MAX = 20_000;

/** A file in an archive. */
export interface Entry {
  readonly name: string;
  /** According to the archive. */
  readonly size: number;
}

class TooMuch extends Error {}

function unzipped(bytes: Uint8Array, filter: UnzipFileFilter): Record<string, Uint8Array> {
  try {
    return unzipSync(bytes, { filter });
  } catch (error) {
    if (error instanceof TooMuch) throw error;
    // fflate's codes look like system codes.
    throw new Error('it is a broken archive');
  }
}

/** The files of an archive, in order. Fails if the bytes are not an archive. */
export function entriesOf(bytes: Uint8Array): readonly Entry[] {
  const entries: Entry[] = [];
  unzipped(bytes, ({ name, originalSize: size }) => {
    if (entries.length >= ENTRIES_MAX) throw new TooMuch(`it has more than ${ENTRIES_MAX} files`);
    if (!name.endsWith('/')) entries.push({ name, size });
    return false;
  });
  return entries;
}

/** The wanted files. */
export function unpack(
  bytes: Uint8Array,
  wanted: (name: string) => boolean,
): ReadonlyMap<string, Uint8Array> {
  let left = UNPACKED_MAX;
  // An entry gets as much room as it claims: it cannot decompress to more.
  const files = unzipped(bytes, ({ name, size, originalSize }) => {
    if (name === '__proto__' || name.endsWith('/') || !wanted(name)) return false;
    left -= Math.max(size, originalSize);
    if (left < 0) throw new TooMuch(`it unpacks to more than ${UNPACKED_MAX / MB} MiB`);
    return true;
  });
  return new Map(Object.entries(files));
}

/**
 * The XML of an archive as a new archive with truthful sizes, for a library that unpacks without limits.
 * `check` sees each part first.
 */
export function repacked(
  bytes: Uint8Array,
  check: (part: Uint8Array) => void = () => undefined,
): Uint8Array {
  const parts = unpack(bytes, (name) => /\.(?:xml|rels)$/.test(name));
  for (const part of parts.values()) check(part);
  return zipSync(Object.fromEntries(parts), { level: 0 });
}
