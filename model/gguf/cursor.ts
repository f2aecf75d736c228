/**
 * Reads a file forwards, a piece at a time, and never beyond its end: a length beyond that is refused before
 * anything is allocated for it.
 */
import type { FileHandle } from 'node:fs/promises';
import { checkpointError } from '../hf/checkpointError.ts';

/** For metadata and tensor descriptions together; a vocabulary of 256,000 tokens takes about 15e6. */
const BYTES_MAX = 256 << 20;
const CHUNK_BYTES = 1 << 20;

export interface Cursor {
  /** Bytes from the file's beginning. */
  readonly at: number;
  /** The next bytes; valid until the next call. */
  take(bytes: number): Promise<Uint8Array>;
}

export function cursor(path: string, file: FileHandle, size: number): Cursor {
  const end = Math.min(size, BYTES_MAX);
  let chunk = new Uint8Array(0);
  let at = 0;
  let chunkAt = 0;

  const fill = async (bytes: number): Promise<void> => {
    const rest = Math.min(Math.max(bytes, CHUNK_BYTES), end - at);
    chunk = new Uint8Array(rest);
    chunkAt = at;
    for (let done = 0; done < rest; ) {
      const { bytesRead } = await file.read(chunk, done, rest - done, at + done);
      if (bytesRead === 0) throw cutShort(path, size);
      done += bytesRead;
    }
  };
  return {
    get at() {
      return at;
    },
    async take(bytes) {
      if (at + bytes > size) throw cutShort(path, size);
      if (at + bytes > end)
        throw checkpointError(`${path}: its metadata is larger than ${BYTES_MAX} bytes`, {
          file: path,
        });
      if (at + bytes > chunkAt + chunk.length) await fill(bytes);
      const from = at - chunkAt;
      at += bytes;
      return chunk.subarray(from, from + bytes);
    },
  };
}

export function cutShort(path: string, size: number) {
  return checkpointError(
    `${path} is cut short: it needs more than its ${size} bytes; copy or download it again`,
    { file: path },
  );
}
