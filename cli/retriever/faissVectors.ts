/** `millrace retriever import --faiss FILE`: the vectors of a FAISS index, checked against the encoder. */
import { MillraceError } from '../../base/index.ts';
import type { TextEncoder } from '../../model/encoder/index.ts';
import { type FaissFile, openFaiss } from '../../operators/tools/retrieval/index.ts';

export type FaissVectors = Pick<FaissFile, 'passages' | 'read' | 'close'>;

/** How far a unit vector's squared length may be from 1 in single precision, or half. */
const UNIT_TOLERANCE = 0.01;

/** Fails with code `RETRIEVER` if it is no flat index, or its vectors cannot be this encoder's. */
export async function faissVectors(path: string, encoder: TextEncoder): Promise<FaissVectors> {
  const file = await openFaiss(path);
  const { passages, dimensions, metric } = file;
  if (dimensions !== encoder.dimensions) {
    await file.close();
    throw refused(
      path,
      `has vectors of ${dimensions} numbers, but the encoder makes ${encoder.dimensions}: name the encoder that made the index`,
    );
  }
  const mustBeUnit = encoder.settings.normalised || metric === 'distance';
  return {
    passages,
    async read(from, count) {
      const rows = await file.read(from, count);
      for (let row = 0; mustBeUnit && row < count; row++) {
        const vector = rows.subarray(row * dimensions, (row + 1) * dimensions);
        const length = vector.reduce((sum, value) => sum + value * value, 0);
        if (!(Math.abs(length - 1) < UNIT_TOLERANCE))
          throw refused(
            path,
            `has a vector of length ${Math.sqrt(length).toPrecision(3)} (number ${from + row}), and ${metric === 'distance' ? 'by distance' : 'with this encoder'} only unit vectors are found alike: build the index again with \`millrace retriever build\``,
          );
      }
      return rows;
    },
    close: () => file.close(),
  };
}

function refused(path: string, what: string): MillraceError<'RETRIEVER'> {
  return new MillraceError('RETRIEVER', `${path} ${what}`, { context: { file: path } });
}
