/** The vectors of an index on disk: float32, little-endian, row by row. */
import type { FileHandle } from 'node:fs/promises';
import { retrieverError } from './retrieverError.ts';

/** Bytes of one vector. */
export function rowBytes(dimensions: number): number {
  return dimensions * Float32Array.BYTES_PER_ELEMENT;
}

export interface Stretch {
  readonly dimensions: number;
  readonly from: number;
  readonly count: number;
}

/** Some rows, one after the other. `path` is for the message if the file ends before. */
export async function readRows(
  file: FileHandle,
  path: string,
  { dimensions, from, count }: Stretch,
): Promise<Float32Array> {
  const rows = new Float32Array(count * dimensions);
  const bytes = new Uint8Array(rows.buffer);
  const start = from * rowBytes(dimensions);
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, start + done);
    if (bytesRead === 0)
      throw retrieverError(
        `${path} ends before row ${from + count}: build the index again with \`millrace retriever build\``,
        path,
      );
    done += bytesRead;
  }
  return rows;
}
