/**
 * The entries of an index by key: (hash of a name, record) pairs, sorted, in pages that are looked up without
 * reading the others.
 *
 * An entry is one float64 (little-endian, like every machine that lmdb is built for here), hash × 2^21 + the
 * record's place in its run, so that numbers sort as pairs do and a run is an array of numbers. A page has
 * the entries of one range of hashes, and a checksum that also covers which page it is: a page that was
 * changed or misplaced is recognised. Two names may have one hash, so whoever looks up compares the record's
 * own.
 */
import { crc32 } from '../../../base/index.ts';
import { namesOf } from '../../names.ts';
import type { Topic } from '../../topic.ts';

/** A run of entries: those of the records `from` up to `to`. */
export interface Run {
  readonly from: number;
  readonly to: number;
  /** 0 = as it was appended; one more for each time that it was merged with its neighbours. */
  readonly level: number;
  readonly pages: number;
}

/** Records that a run may span. */
export const SPAN_MAX = 2 ** 21;

/** About how many entries a page has; those of one hash stay together. */
const PAGE_ENTRIES = 1024;
const HEADER_BYTES = 4;
const ENTRY_BYTES = 8;

/** 32 bits of a name: FNV-1a over its UTF-16 units, mixed again so that its upper bits spread too. */
export function hashOf(name: string): number {
  let hash = 0x811c_9dc5;
  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x0100_0193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Of the names by which a record is found. */
export function hashesOf<T>(topic: Topic<T>, value: T): readonly number[] {
  if (typeof topic.subjects !== 'function') return [hashOf(topic.key(value))];
  return namesOf(topic, value).map(hashOf);
}

/** `place` counts from the first record of the run. */
export function entryOf(hash: number, place: number): number {
  return hash * SPAN_MAX + place;
}

export function placeIn(entry: number): number {
  return entry % SPAN_MAX;
}

export function hashIn(entry: number): number {
  return Math.floor(entry / SPAN_MAX);
}

/** How many pages this many entries need: a power of two. */
export function pageCount(entries: number): number {
  let pages = 1;
  while (pages * PAGE_ENTRIES < entries) pages *= 2;
  return pages;
}

/** Which of the pages a hash is in. */
export function pageOf(hash: number, pages: number): number {
  return Math.floor((hash * pages) / 2 ** 32);
}

/** The pages of sorted entries; `name` says about each which one it is. */
export function sealPages(entries: Float64Array, name: (page: number) => string): Buffer[] {
  const pages = pageCount(entries.length);
  const width = (2 ** 32 / pages) * SPAN_MAX;
  return Array.from({ length: pages }, (_, page) => {
    const [from, to] = [firstFrom(entries, page * width), firstFrom(entries, (page + 1) * width)];
    const bytes = Buffer.allocUnsafe(HEADER_BYTES + (to - from) * ENTRY_BYTES);
    Buffer.from(entries.buffer, entries.byteOffset + from * ENTRY_BYTES).copy(bytes, HEADER_BYTES);
    bytes.writeUInt32LE(checksum(bytes, name(page)), 0);
    return bytes;
  });
}

/** Whether the page is the one of this name, as it was written. */
export function isWhole(page: Buffer, name: string): boolean {
  const fits = (page.length - HEADER_BYTES) % ENTRY_BYTES === 0 && page.length >= HEADER_BYTES;
  return fits && page.readUInt32LE(0) === checksum(page, name);
}

/** The entries of a page, sorted. */
export function entriesIn(page: Buffer): Float64Array {
  const entries = new Float64Array((page.length - HEADER_BYTES) / ENTRY_BYTES);
  page.copy(Buffer.from(entries.buffer), 0, HEADER_BYTES);
  return entries;
}

/** Places of the records with this hash, in order. */
export function placesOf(page: Buffer, hash: number): number[] {
  const count = (page.length - HEADER_BYTES) / ENTRY_BYTES;
  const places: number[] = [];
  for (let i = lowest(count, (at) => entryAt(page, at) >= hash * SPAN_MAX); i < count; i++) {
    const entry = entryAt(page, i);
    if (entry >= (hash + 1) * SPAN_MAX) break;
    places.push(placeIn(entry));
  }
  return places;
}

function entryAt(page: Buffer, index: number): number {
  return page.readDoubleLE(HEADER_BYTES + index * ENTRY_BYTES);
}

function firstFrom(entries: Float64Array, least: number): number {
  return lowest(entries.length, (at) => entries[at]! >= least);
}

/** The first of `count` indices that `passes`, as all after it do. */
function lowest(count: number, passes: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function checksum(page: Buffer, name: string): number {
  return crc32(page.subarray(HEADER_BYTES), crc32(Buffer.from(name), 0));
}
