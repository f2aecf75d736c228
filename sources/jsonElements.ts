/**
 * The elements of a JSON array in a file, as texts, found by counting brackets outside strings: nothing is
 * parsed, and at most one element is held.
 *
 * In UTF-8, brackets, quotes and backslashes are single bytes that mean nothing else, so the file is scanned
 * byte by byte and only whole elements are decoded.
 */
import { createReadStream } from 'node:fs';

export type JsonElement =
  /** `place` counts from 1. */
  | { readonly kind: 'text'; readonly place: number; readonly text: string }
  /** Too long, not UTF-8, or cut short by the end of the file. */
  | {
      readonly kind: 'refused';
      readonly place: number;
      readonly reason: string;
      readonly text: string;
      /** The file ended before the element did. */
      readonly cut?: boolean;
    }
  /** The file holds something else; `begins` is its first character, '' if there is none. Nothing follows. */
  | { readonly kind: 'noArray'; readonly begins: string };

export const elementBytesMax = 32 * 1024 * 1024;

const code = (character: string): number => character.charCodeAt(0);
const OPEN = code('[');
const CLOSE = code(']');
const COMMA = code(',');
const QUOTE = code('"');
const BACKSLASH = code('\\');
const OPENING: ReadonlySet<number> = new Set([OPEN, code('{')]);
const CLOSING: ReadonlySet<number> = new Set([CLOSE, code('}')]);
const BLANK: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** The elements in order; white space around them is dropped. */
export async function* jsonElements(
  path: string,
  bytesMax = elementBytesMax,
): AsyncGenerator<JsonElement> {
  const found = new Elements(bytesMax);
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    yield* found.of(chunk);
    if (found.ended) return;
  }
  yield* found.end();
}

class Elements {
  readonly #bytesMax: number;
  #place = 0;
  /** 0 = before the array, 1 = between its elements, more = within one. */
  #depth = 0;
  #inString = false;
  #escaped = false;
  #parts: Buffer[] = [];
  #length = 0;
  /** Position in the file, in bytes. */
  #seen = 0;
  ended = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  *of(chunk: Buffer): Generator<JsonElement> {
    let start = 0;
    for (let at = 0; at < chunk.length && !this.ended; at++) {
      const byte = chunk[at] as number;
      if (this.#depth === 0) {
        yield* this.#before(byte, this.#seen + at);
        start = at + 1;
      } else if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) this.#inString = false;
      } else if (byte === QUOTE) {
        this.#inString = true;
      } else if (OPENING.has(byte)) {
        this.#depth++;
      } else if (CLOSING.has(byte) && this.#depth > 1) {
        this.#depth--;
      } else if (this.#depth === 1 && (byte === COMMA || byte === CLOSE)) {
        this.#keep(chunk.subarray(start, at));
        start = at + 1;
        this.ended = byte === CLOSE;
        yield* this.#element(this.ended);
      }
    }
    this.#seen += chunk.length;
    if (!this.ended) this.#keep(chunk.subarray(start));
  }

  /** The file ended before the array did. */
  *end(): Generator<JsonElement> {
    this.ended = true;
    if (this.#depth === 0) {
      yield { kind: 'noArray', begins: '' };
      return;
    }
    const text = Buffer.concat(this.#parts).toString('utf8').trim();
    const reason = 'the file ends before this element or the array is complete';
    yield { kind: 'refused', place: this.#place + 1, reason, text, cut: true };
  }

  *#before(byte: number, offset: number): Generator<JsonElement> {
    if (byte === BYTE_ORDER_MARK[offset] || BLANK.has(byte)) return;
    if (byte === OPEN) {
      this.#depth = 1;
      return;
    }
    this.ended = true;
    yield { kind: 'noArray', begins: String.fromCharCode(byte) };
  }

  #keep(bytes: Buffer): void {
    if (this.#length + bytes.length <= this.#bytesMax) this.#parts.push(bytes);
    this.#length += bytes.length;
  }

  /** What has been kept since the last comma. An empty array has nothing between its brackets. */
  *#element(last: boolean): Generator<JsonElement> {
    const bytes = Buffer.concat(this.#parts);
    const tooLong = this.#length > this.#bytesMax;
    this.#parts = [];
    this.#length = 0;
    const text = tooLong ? '' : decoded(bytes);
    if (last && this.#place === 0 && text?.trim() === '' && !tooLong) return;
    const place = ++this.#place;
    if (tooLong) {
      const reason = `the element is longer than ${this.#bytesMax} bytes`;
      yield { kind: 'refused', place, reason, text: '' };
    } else if (text === null) {
      const reason = 'the element is not UTF-8; save the file as UTF-8';
      yield { kind: 'refused', place, reason, text: '' };
    } else yield { kind: 'text', place, text: text.trim() };
  }
}

function decoded(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
