/**
 * Checks an lmdb file before it is mapped into memory: reading past the end of a truncated file, or following
 * a changed page number, would crash the process.
 *
 * The two header pages say how many pages there are; the trees of the newer one are walked (branches and
 * leaves, not values on their own pages), and every page must exist and match what its parent says. A file
 * that another process is writing is checked again, and trusted while it keeps changing: that process has it
 * mapped.
 *
 * Layout: lmdb's data version 2 on 64-bit little-endian machines, the only ones that it is built for here.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { messageOf } from '../errors.ts';

/** Why the file cannot be mapped; null when it can. An empty file counts as damaged. */
export function lmdbDamage(path: string): string | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    return `cannot be opened (${messageOf(error)})`;
  }
  try {
    return damageIn(file);
  } finally {
    closeSync(file);
  }
}

/** A mapped lmdb file: whether it is still safe to read, and whether writes are still kept. */
export interface MappedFile {
  /** What has happened to it since it was opened; null if it is unchanged. Costs a microsecond. */
  damage(): string | null;
  close(): void;
}

/** Call once lmdb has opened it. An lmdb file never shrinks on its own. */
export function mappedFile(path: string): MappedFile {
  const file = openSync(path, 'r');
  let least = 0;
  return {
    damage() {
      const { size, nlink } = fstatSync(file);
      if (nlink === 0) return 'was removed or replaced while it was open';
      if (size < least) return `was cut short while it was open: it has ${size} of ${least} bytes`;
      least = size;
      return null;
    },
    close: () => closeSync(file),
  };
}

const LOOKS_MAX = 3;

function damageIn(file: number): string | null {
  for (let look = 1; ; look++) {
    const header = headerOf(file);
    if (typeof header === 'string') return header;
    const damage = new Walk(file, header).damage();
    if (damage === null) return null;
    const after = headerOf(file);
    const moved = typeof after !== 'string' && after.transaction !== header.transaction;
    if (!moved) return damage;
    if (look === LOOKS_MAX) return null;
  }
}

const PAGE_HEADER = 24;
const MAGIC = 0xbeef_c0de;
const VERSION = 2;
const PAGE_MIN = 256;
const PAGE_MAX = 65_536;
const BRANCH = 1;
const LEAF = 2;
const META = 8;
/** A tree without pages has this root. */
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
const DEPTH_MAX = 32;
/** Flags of a leaf's node: its value is on pages of its own, or is a tree. */
const ON_PAGES = 1;
const TREE = 2;
const NODE_HEADER = 8;

/** A tree as described by its record. */
interface Tree {
  readonly root: bigint;
  readonly depth: number;
}

interface Header {
  readonly pageBytes: number;
  /** The last page ever used. */
  readonly lastPage: bigint;
  readonly transaction: bigint;
  /** Free pages, then the tree of tables. */
  readonly trees: readonly Tree[];
}

/** The newer of the two header pages, or what is wrong with them. */
function headerOf(file: number): Header | string {
  const { size } = fstatSync(file);
  if (size === 0) return 'is empty';
  const first = metaAt(file, 0);
  if (typeof first === 'string') return first;
  const second = metaAt(file, first.pageBytes);
  if (typeof second === 'string') return second;
  if (second.pageBytes !== first.pageBytes) return 'has two conflicting headers';
  return second.transaction > first.transaction ? second : first;
}

function metaAt(file: number, place: number): Header | string {
  const bytes = readAt(file, place, PAGE_HEADER + 144);
  if (bytes === null) return `is cut short: it has only ${fstatSync(file).size} bytes`;
  const pageBytes = bytes.readUInt32LE(48);
  const known =
    (bytes.readUInt16LE(18) & META) !== 0 &&
    bytes.readUInt32LE(24) === MAGIC &&
    (bytes.readUInt32LE(28) & 0xffff) === VERSION &&
    pageBytes >= PAGE_MIN &&
    pageBytes <= PAGE_MAX &&
    (pageBytes & (pageBytes - 1)) === 0;
  if (!known) return 'has a damaged header, or is not an lmdb file';
  return {
    pageBytes,
    lastPage: bytes.readBigUInt64LE(144),
    transaction: bytes.readBigUInt64LE(152),
    trees: [treeAt(bytes, 48), treeAt(bytes, 96)],
  };
}

function treeAt(bytes: Buffer, place: number): Tree {
  return { root: bytes.readBigUInt64LE(place + 40), depth: bytes.readUInt16LE(place + 6) };
}

/** Null if the file ends before. */
function readAt(file: number, place: number, length: number, into?: Buffer): Buffer | null {
  const bytes = into ?? Buffer.allocUnsafe(length);
  return readSync(file, bytes, 0, length, place) === length ? bytes : null;
}

class Walk {
  readonly #file: number;
  readonly #header: Header;
  /** Pages in the file. */
  readonly #pages: bigint;
  /** One entry per level: a page is needed until its children are done. */
  readonly #buffers: Buffer[] = [];

  constructor(file: number, header: Header) {
    this.#file = file;
    this.#header = header;
    this.#pages = BigInt(Math.floor(fstatSync(file).size / header.pageBytes));
  }

  damage(): string | null {
    // Free pages at the end may be missing, so only reachable pages are checked.
    for (const tree of this.#header.trees) {
      const damage = this.#tree(tree, 0);
      if (damage !== null) return damage;
    }
    return null;
  }

  #tree({ root, depth }: Tree, level: number): string | null {
    if (root === NO_PAGE) return null;
    if (depth < 1 || depth > DEPTH_MAX) return `has a tree of ${depth} levels`;
    return this.#page(root, depth, level);
  }

  /** The page and everything below it; `height` is 1 for a leaf. */
  #page(page: bigint, height: number, level: number): string | null {
    const gone = this.#gone(page, 1n);
    if (gone !== null) return gone;
    const { pageBytes } = this.#header;
    this.#buffers[level] ??= Buffer.allocUnsafe(pageBytes);
    const bytes = readAt(this.#file, Number(page) * pageBytes, pageBytes, this.#buffers[level]);
    const changed = `has a damaged page (number ${page})`;
    if (bytes === null || bytes.readBigUInt64LE(0) !== page) return changed;
    const kind = bytes.readUInt16LE(18) & (BRANCH | LEAF);
    if (kind !== (height === 1 ? LEAF : BRANCH)) return changed;
    const [lower, upper] = [bytes.readUInt16LE(20), bytes.readUInt16LE(22)];
    if (lower > upper || upper > pageBytes - PAGE_HEADER) return changed;
    for (let place = PAGE_HEADER; place < PAGE_HEADER + lower; place += 2) {
      const node = bytes.readUInt16LE(place) + PAGE_HEADER;
      if (node < PAGE_HEADER + upper || node + NODE_HEADER > pageBytes) return changed;
      const damage =
        kind === BRANCH
          ? this.#page(childIn(bytes, node), height - 1, level + 1)
          : this.#node(bytes, node, level, changed);
      if (damage !== null) return damage;
    }
    return null;
  }

  #node(bytes: Buffer, node: number, level: number, changed: string): string | null {
    const { pageBytes } = this.#header;
    const size = bytes.readUInt32LE(node);
    const flags = bytes.readUInt16LE(node + 4);
    const data = node + NODE_HEADER + bytes.readUInt16LE(node + 6);
    const onPages = (flags & ON_PAGES) !== 0;
    if (data + (onPages ? NODE_HEADER * 3 : size) > pageBytes) return changed;
    if (onPages) {
      const count = BigInt(Math.ceil((PAGE_HEADER + size) / pageBytes));
      return this.#gone(bytes.readBigUInt64LE(data), count);
    }
    if ((flags & TREE) === 0) return null;
    return size < 48 ? changed : this.#tree(treeAt(bytes, data), level + 1);
  }

  #gone(page: bigint, count: bigint): string | null {
    const { lastPage, pageBytes } = this.#header;
    const end = page + count;
    if (page < 2n || end > lastPage + 1n) return `points to page ${page}, which does not exist`;
    if (end <= this.#pages) return null;
    const bytes = Number(this.#pages) * pageBytes;
    return `is cut short: it has ${bytes} of at least ${Number(end) * pageBytes} bytes`;
  }
}

/** The page that a branch's node points to. */
function childIn(bytes: Buffer, node: number): bigint {
  return BigInt(bytes.readUInt32LE(node)) + (BigInt(bytes.readUInt16LE(node + 4)) << 32n);
}
