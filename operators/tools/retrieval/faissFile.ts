/**
 * A flat index of FAISS (`IndexFlatIP`, `IndexFlatL2`), read without FAISS: a header, and the vectors in the
 * order of the corpus. Any other kind of index does not hold the original vectors, and is refused by name.
 */
import { open, stat } from 'node:fs/promises';
import { retrieverError } from './retrieverError.ts';
import { rowBytes } from './vectorFile.ts';

export interface FaissFile {
  readonly dimensions: number;
  readonly passages: number;
  /** What it compares by. */
  readonly metric: 'inner product' | 'distance';
  /** Vectors of these rows, one after the other. */
  read(from: number, count: number): Promise<Float32Array>;
  close(): Promise<void>;
}

/** The first four bytes of a flat one, by what it compares by. */
const FLAT: Readonly<Record<string, FaissFile['metric']>> = {
  ...{ IxFI: 'inner product', IxF2: 'distance' },
};
/** Other kinds, with their usual names. */
const OTHERS: Readonly<Record<string, string>> = {
  ...{ IwFl: 'IVF,Flat', IwPQ: 'IVF,PQ', IwSq: 'IVF,SQ', IxPq: 'PQ', IxSQ: 'SQ', IHNf: 'HNSW' },
  ...{ IHNp: 'HNSW,PQ', IHNs: 'HNSW,SQ', IHN2: 'HNSW', IxPT: 'a transform before an index' },
  ...{ IxMp: 'IDMap', IxM2: 'IDMap2', IxHe: 'LSH', INSf: 'NSG', IBxF: 'a binary index' },
};
/** Kind, dimensions, count, two unused numbers, trained, metric, length of the vectors. */
const HEADER_BYTES = 4 + 4 + 8 + 16 + 1 + 4 + 8;
const DIMENSIONS_MAX = 65_536;

/** Fails with code `RETRIEVER` for a file that is not a flat index, or not a complete one. */
export async function openFaiss(path: string): Promise<FaissFile> {
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw retrieverError(`${path} cannot be read: give the file that FAISS wrote`, path, cause);
  });
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    await file.read(header, 0, HEADER_BYTES, 0);
    const kind = header.toString('latin1', 0, 4);
    const metric = FLAT[kind];
    if (metric === undefined) throw otherKind(path, kind);
    const dimensions = header.readInt32LE(4);
    const passages = Number(header.readBigInt64LE(8));
    const floats = Number(header.readBigUInt64LE(37));
    const { size } = await stat(path);
    const isSane = dimensions > 0 && dimensions <= DIMENSIONS_MAX && passages > 0;
    if (!isSane || floats !== dimensions * passages || size < HEADER_BYTES + floats * 4)
      throw retrieverError(
        `${path} is damaged: its header says ${passages} vectors of ${dimensions} numbers, but it has ${size} bytes; copy it again`,
        path,
      );
    return {
      ...{ dimensions, passages, metric },
      async read(from, count) {
        const rows = new Float32Array(count * dimensions);
        const bytes = new Uint8Array(rows.buffer);
        const start = HEADER_BYTES + from * rowBytes(dimensions);
        for (let done = 0; done < bytes.length; ) {
          const { bytesRead } = await file.read(bytes, done, bytes.length - done, start + done);
          if (bytesRead === 0)
            throw retrieverError(`${path} ends before vector ${from + count}`, path);
          done += bytesRead;
        }
        return rows;
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

function otherKind(path: string, kind: string): Error {
  const name = OTHERS[kind];
  if (name === undefined)
    return retrieverError(`${path} is not a FAISS index (its first bytes differ)`, path);
  return retrieverError(
    `${path} is ${name}, which does not hold the original vectors: import a flat index (IndexFlatIP or IndexFlatL2), or build one with \`millrace retriever build\``,
    path,
  );
}
