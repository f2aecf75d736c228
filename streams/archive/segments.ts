/**
 * Archived stretches of topics: records that have left the log for files of their own, and are read back from
 * there as if they were still in the log.
 *
 * A segment is one gzip file of consecutive records of a topic, or of a partition, each after its length: as
 * it was in the log's file (embedded/envelope.ts, with its checksum), or on Kafka (kafka/archive/record.ts).
 * What is archived is a list in the log itself: a segment that a crash left without its entry is written
 * again. Segments may be moved to another disk by linking the folder; one that is missing, or has another
 * digest, is an error that names it (`ARCHIVED`).
 *
 * An archive is a folder or the address of an object store (objectStore.ts). A segment's name holds its
 * digest, so none ever replaces another, and what was written is read back before the log drops its
 * records.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gunzipSync, gzip, type ZlibOptions } from 'node:zlib';
import { MillraceError, messageOf, syncFolder, systemCode, writingTo } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import { mayRead } from '../foreignLog.ts';
import { fetchAtOnce } from './fetchAtOnce.ts';
import { isAddress, ObjectStore } from './objectStore.ts';

const zipped = promisify(gzip);
const unzipped = promisify<Buffer, ZlibOptions, Buffer>(gunzip);

/** A segment: the records at offsets from `from` to before `to`. */
export interface Segment {
  readonly from: number;
  readonly to: number;
  /** Relative to the log's folder if it is in it or next to it; else absolute, or an address. */
  readonly file: string;
  /** SHA-256 of the file, and its bytes; missing in older segments. */
  readonly digest?: string;
  readonly length?: number;
  /** Bytes of its records, unpacked; missing in older segments. */
  readonly plain?: number;
}

/** The archived part of a topic, oldest first and without gaps, and the bytes that it took in the log. */
export interface Archived {
  readonly segments: readonly Segment[];
  readonly bytes: number;
}

export const NOTHING_ARCHIVED: Archived = { segments: [], bytes: 0 };

/** Limit for the bytes of a segment's records if the entry does not say how many there are. */
const PLAIN_MAX = 512 * 2 ** 20;
/** Unpacked segments that a reader keeps for the next record. */
export const HELD_MAX = 4;
/** Characters of its digest in an object's name. */
const NAMED_BY = 16;

/** Reads archived records; holds the newest few segments unpacked. */
export class SegmentReader {
  readonly #folder: string;
  /** By file; the one used last is the last. */
  readonly #held = new Map<string, readonly Buffer[]>();

  constructor(logFolder: string) {
    this.#folder = logFolder;
  }

  /**
   * The sealed record; undefined if it is not archived. Fails with code `ARCHIVED` if its segment
   * cannot be read.
   */
  record(topic: string, offset: number, { segments }: Archived): Buffer | undefined {
    const segment = segmentAt(segments, offset);
    if (segment === undefined) return undefined;
    const records = this.#held.get(segment.file) ?? this.#read(topic, segment);
    this.#held.delete(segment.file);
    this.#held.set(segment.file, records);
    const [oldest] = this.#held.keys();
    if (this.#held.size > HELD_MAX) this.#held.delete(oldest!);
    return records[offset - segment.from];
  }

  #read(topic: string, segment: Segment): readonly Buffer[] {
    const { from, to, file } = segment;
    const path = placeOf(this.#folder, file);
    try {
      mustBeNear(this.#folder, file);
      const bytes = isAddress(file)
        ? fetchAtOnce({ url: file, length: segment.length! })
        : readFileSync(path);
      mustBe(bytes, segment.digest);
      return allOf(gunzipSync(bytes, boundOf(segment)), to - from);
    } catch (cause) {
      throw unreadable(topic, segment, path, cause);
    }
  }
}

/**
 * The `count` records of a segment, for a caller who may wait. Fails with code `ARCHIVED` if it cannot be
 * read.
 */
export async function readSegment(
  logFolder: string,
  topic: string,
  segment: Segment,
  count: number,
): Promise<readonly Buffer[]> {
  const { file, digest } = segment;
  const path = placeOf(logFolder, file);
  try {
    mustBeNear(logFolder, file);
    const bytes = isAddress(file)
      ? await new ObjectStore().get(file, segment.length!)
      : await readFile(path);
    mustBe(bytes, digest);
    return allOf(await unzipped(bytes, boundOf(segment)), count);
  } catch (cause) {
    throw unreadable(topic, segment, path, cause);
  }
}

function boundOf({ plain = PLAIN_MAX }: Segment): { maxOutputLength: number } {
  return { maxOutputLength: Math.max(1, Math.min(plain, PLAIN_MAX)) };
}

function mustBeNear(logFolder: string, file: string): void {
  if (mayRead(logFolder, file, isAddress(file))) return;
  throw new Error(
    'an unpacked log reads nothing outside its folder; unpack it with --trust if it is yours',
  );
}

function placeOf(logFolder: string, file: string): string {
  return isAddress(file) ? file : resolve(logFolder, file);
}

function allOf(bytes: Buffer, count: number): readonly Buffer[] {
  const records = unpacked(bytes);
  if (records.length === count) return records;
  throw new Error(`it has ${counted(records.length, 'record')}`);
}

function unreadable(
  topic: string,
  { from, to, file }: Segment,
  path: string,
  cause: unknown,
): MillraceError<'ARCHIVED'> {
  const why =
    systemCode(cause) === 'ENOENT' ? 'does not exist' : `cannot be read (${messageOf(cause)})`;
  return new MillraceError(
    'ARCHIVED',
    `records ${from} to ${to - 1} of ${topic} are archived in ${path}, which ${why}: ${isAddress(file) ? 'check that it answers and that this process may read it' : 'put it back'}, or start reading at offset ${to}`,
    { context: { topic, path, from, to }, cause },
  );
}

/** The segment that has this offset, of a list without gaps. */
export function segmentAt<S extends Segment>(
  segments: readonly S[],
  offset: number,
): S | undefined {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (segments[middle]!.to <= offset) low = middle + 1;
    else high = middle;
  }
  const found = segments[low];
  return found !== undefined && offset >= found.from ? found : undefined;
}

/** Where segments go. */
export interface Folders {
  /** What the name of a file nearby is relative to. */
  readonly logFolder: string;
  /** A folder, or the address of an object store. */
  readonly archive: string;
}

/** What a segment holds. */
export interface Stretch {
  /** Name of the topic, or of the partition: its folder in the archive. */
  readonly of: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Writes a segment into the archive, whole or not at all, and reads it back. Resolves once it is there to
 * stay.
 */
export async function writeSegment(
  { logFolder, archive }: Folders,
  { of, from, to }: Stretch,
  records: readonly Buffer[],
): Promise<Required<Segment>> {
  const plain = packed(records);
  const bytes = await zipped(plain, { level: 6 });
  const digest = digestOf(bytes);
  const segment = { from, to, digest, length: bytes.length, plain: plain.length };
  const name = `${String(from).padStart(12, '0')}-${digest.slice(0, NAMED_BY)}.gz`;
  if (isAddress(archive)) {
    const file = `${archive}/${of}/${name}`;
    const store = new ObjectStore();
    await store.put(file, bytes);
    mustBe(await store.get(file, bytes.length), digest);
    return { ...segment, file };
  }
  const path = join(archive, of, name);
  const file = await writeFile(logFolder, path, bytes);
  mustBe(await readFile(path), digest);
  return { ...segment, file };
}

async function writeFile(logFolder: string, path: string, bytes: Buffer): Promise<string> {
  mkdirSync(dirname(path), { recursive: true });
  const beside = `${path}.new`;
  await rm(beside, { force: true });
  const file = await open(beside, 'wx', 0o600);
  await writingTo(path, async () => {
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
  });
  await rename(beside, path);
  await syncFolder(dirname(path));
  const near = relative(logFolder, path);
  // A run's folder may be moved with its contents; the log is one level below it.
  const inRun = !isAbsolute(near) && !near.startsWith(join('..', '..'));
  return inRun ? near : path;
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function mustBe(bytes: Buffer, digest: string | undefined): void {
  if (digest === undefined || digestOf(bytes) === digest) return;
  throw new Error('it was changed: its digest does not match');
}

function packed(records: readonly Buffer[]): Buffer {
  return Buffer.concat(
    records.flatMap((record) => {
      const length = Buffer.allocUnsafe(4);
      length.writeUInt32LE(record.length);
      return [length, record];
    }),
  );
}

function unpacked(bytes: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    records.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return records;
}
