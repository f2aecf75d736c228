/**
 * A file as lines, one at a time, with their numbers.
 *
 * Splits on "\n" alone (a trailing "\r" is dropped): `node:readline` also splits on U+2028, which may
 * stand inside a JSON string. Memory is bounded by `lineBytesMax`: a longer line is skipped and
 * reported, as is one that is not UTF-8, and reading goes on.
 */
import { createReadStream } from 'node:fs';

/** A line, or why there is none. `number` counts from 1. */
export type Line =
  | { readonly number: number; readonly text: string }
  | { readonly number: number; readonly text: null; readonly reason: string };

export const lineBytesMax = 8 * 1024 * 1024;

const newline = 0x0a;

/** The lines of a UTF-8 file, without their ends; a byte order mark is dropped. */
export async function* lines(path: string, bytesMax = lineBytesMax): AsyncGenerator<Line> {
  let number = 1;
  let parts: Buffer[] = [];
  let length = 0;
  const take = (piece: Buffer): void => {
    if (length + piece.length <= bytesMax) parts.push(piece);
    length += piece.length;
  };
  const finish = (): Line => {
    const line = decode(number++, Buffer.concat(parts), length > bytesMax ? bytesMax : null);
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, end));
      yield finish();
      start = end + 1;
    }
    if (start < chunk.length) take(chunk.subarray(start));
  }
  if (length > 0) yield finish();
}

function decode(number: number, bytes: Buffer, exceededBytes: number | null): Line {
  if (exceededBytes !== null) {
    return { number, text: null, reason: `the line is longer than ${exceededBytes} bytes` };
  }
  try {
    // A decoder drops a byte order mark, which only the first line may begin with.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: number > 1 }).decode(bytes);
    return { number, text: text.endsWith('\r') ? text.slice(0, -1) : text };
  } catch {
    return { number, text: null, reason: 'the line is not UTF-8; save the file as UTF-8' };
  }
}
