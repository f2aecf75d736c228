/**
 * A file as lines, one at a time, with their numbers.
 *
 * Splits on "\n" alone (a trailing "\r" is dropped): `node:readline` also splits on U+2028, which may
 * be inside a JSON string. Memory is bounded by `lineBytesMax`: a longer line is skipped and
 * reported, as is one that is not UTF-8, and reading goes on.
 */
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** A line, or why it cannot be read. `number` counts from 1. */
export type Line =
  | { readonly number: number; readonly text: string }
  | { readonly number: number; readonly text: null; readonly reason: string };

export const lineBytesMax = 8 * 1024 * 1024;

const newline = 0x0a;

/** The bytes of a file, decompressed if its name ends in `.gz`. */
function bytesOf(path: string): AsyncIterable<Buffer> {
  const file = createReadStream(path);
  // The reader of the result gets errors of the file and of its compression.
  return path.toLowerCase().endsWith('.gz')
    ? pipeline(file, createGunzip(), () => undefined)
    : file;
}

/**
 * The lines of a UTF-8 file, without their ends; a byte order mark is dropped. A `.gz` file is decompressed.
 */
export async function* lines(path: string, bytesMax = lineBytesMax): AsyncGenerator<Line> {
  const splitter = new LineSplitter({ bytesMax });
  for await (const chunk of bytesOf(path)) {
    for (const { line } of splitter.push(chunk)) yield line;
  }
  const last = splitter.rest();
  if (last !== null) yield last.line;
}

/** A line and its length in bytes, including its end. */
export interface Split {
  readonly line: Line;
  readonly bytes: number;
}

/** Bytes in, lines out. Holds the beginning of a line that has no end yet. */
export class LineSplitter {
  readonly #bytesMax: number;
  #number: number;
  #parts: Buffer[] = [];
  #length = 0;

  /** `number` = that of the first line. */
  constructor({
    bytesMax = lineBytesMax,
    number = 1,
  }: { bytesMax?: number; number?: number } = {}) {
    this.#bytesMax = bytesMax;
    this.#number = number;
  }

  /** The lines that end in this chunk. */
  *push(chunk: Buffer): Generator<Split, void> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.#take(chunk.subarray(start, end));
      start = end + 1;
      yield this.#finish(1);
    }
    if (start < chunk.length) this.#take(chunk.subarray(start));
  }

  /** What follows the last end of line, as a line; null if there is nothing. */
  rest(): Split | null {
    return this.#length === 0 ? null : this.#finish(0);
  }

  #take(piece: Buffer): void {
    if (this.#length + piece.length <= this.#bytesMax) this.#parts.push(piece);
    this.#length += piece.length;
  }

  #finish(endBytes: number): Split {
    const tooLong = this.#length > this.#bytesMax ? this.#bytesMax : null;
    const line = decode(this.#number++, Buffer.concat(this.#parts), tooLong);
    const bytes = this.#length + endBytes;
    this.#parts = [];
    this.#length = 0;
    return { line, bytes };
  }
}

function decode(number: number, bytes: Buffer, exceededBytes: number | null): Line {
  if (exceededBytes !== null) {
    return { number, text: null, reason: `the line is longer than ${exceededBytes} bytes` };
  }
  try {
    // A decoder drops a byte order mark, which may only be in the first line.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: number > 1 }).decode(bytes);
    return { number, text: text.endsWith('\r') ? text.slice(0, -1) : text };
  } catch {
    return { number, text: null, reason: 'the line is not UTF-8; save the file as UTF-8' };
  }
}
