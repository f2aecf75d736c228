/**
 * The passages of an index on disk: one JSON object per line, and a second file that says where each line
 * ends, so that any of them is read without the others. Nothing is held in memory.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { writingTo } from '../../../base/index.ts';
import { counted } from '../../../base/text/index.ts';
import { OFFSETS, PASSAGES } from './manifest.ts';
import type { Passage } from './retriever.ts';
import { retrieverError } from './retrieverError.ts';

/** Bytes of an offset: a whole number of 64 bits, little-endian. */
const OFFSET_BYTES = 8;
/** Bytes written at once. */
const CHUNK_BYTES = 1 << 20;

export interface PassageWriter {
  add(passage: Passage): Promise<void>;
  /** Everything is on disk. */
  close(): Promise<void>;
}

/** Writes the passages of a folder from the first one on. */
export async function writePassages(folder: string): Promise<PassageWriter> {
  const texts = await open(join(folder, PASSAGES), 'w');
  const offsets = await open(join(folder, OFFSETS), 'w');
  let lines: Buffer[] = [];
  let ends: bigint[] = [];
  let waiting = 0;
  let end = 0;
  const flush = async (): Promise<void> => {
    const places = new Uint8Array(BigUint64Array.from(ends).buffer);
    await writingTo(join(folder, PASSAGES), () => texts.writeFile(Buffer.concat(lines)));
    await writingTo(join(folder, OFFSETS), () => offsets.writeFile(places));
    lines = [];
    ends = [];
    waiting = 0;
  };
  return {
    async add({ id, title, contents }) {
      const line = Buffer.from(`${JSON.stringify({ id, title, contents })}\n`);
      end += line.length;
      waiting += line.length;
      lines.push(line);
      ends.push(BigInt(end));
      if (waiting >= CHUNK_BYTES) await flush();
    },
    async close() {
      await flush();
      for (const file of [texts, offsets]) {
        await file.sync();
        await file.close();
      }
    },
  };
}

export interface PassageReader {
  read(row: number): Passage;
  close(): void;
}

/** Its calls block, so use it in a worker if others are waiting. */
export function openPassages(folder: string): PassageReader {
  const path = join(folder, PASSAGES);
  const texts = openSync(path, 'r');
  const offsets = openSync(join(folder, OFFSETS), 'r');
  return {
    read(row) {
      const [start, end] = endsOf(offsets, row);
      const line = Buffer.allocUnsafe(Math.max(0, end - start));
      const bytesRead = readSync(texts, line, 0, line.length, start);
      try {
        if (bytesRead < line.length) throw new Error(`it ends after ${counted(bytesRead, 'byte')}`);
        return JSON.parse(line.toString()) as Passage;
      } catch (cause) {
        throw retrieverError(
          `${path}: line ${row + 1} is damaged: copy the folder again, or build it again with \`millrace retriever build\``,
          path,
          cause,
        );
      }
    },
    close() {
      closeSync(texts);
      closeSync(offsets);
    },
  };
}

/** Where a line begins and ends. */
function endsOf(offsets: number, row: number): readonly [number, number] {
  const bytes = Buffer.alloc(2 * OFFSET_BYTES);
  if (row === 0) readSync(offsets, bytes, OFFSET_BYTES, OFFSET_BYTES, 0);
  else readSync(offsets, bytes, 0, 2 * OFFSET_BYTES, (row - 1) * OFFSET_BYTES);
  return [Number(bytes.readBigUInt64LE(0)), Number(bytes.readBigUInt64LE(OFFSET_BYTES))];
}
