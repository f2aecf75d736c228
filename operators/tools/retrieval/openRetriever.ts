/**
 * Opens what `millrace retriever build` wrote.
 */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../../base/errors.ts';
import type { OpenEncoder } from '../../../model/encoder/encoder.ts';
import type { Retriever } from './retriever.ts';

export interface RetrieverOptions {
  /** Opens the encoder of the queries: `openEncoder` of `model/encoder`. */
  readonly openEncoder: OpenEncoder;
  /** The encoder's folder, where it is no longer the one that the index was built with. */
  readonly encoder?: string;
  /** For search and encoding (default: half of what there is, at least one). */
  readonly threads?: number;
}

/** The file that makes a folder an index; it is written last. */
export const MANIFEST = 'retriever.json';

/** A retriever over an index's folder. Fails with code `RETRIEVER` where there is none. */
export async function openRetriever(
  folder: string,
  _options: RetrieverOptions,
): Promise<Retriever> {
  const path = join(folder, MANIFEST);
  await access(path).catch((cause: unknown) => {
    throw new MillraceError(
      'RETRIEVER',
      `${folder} is no index: it has no ${MANIFEST}. Make one with \`millrace retriever build CORPUS.jsonl --encoder FOLDER --to ${folder}\``,
      { context: { folder }, cause },
    );
  });
  throw new MillraceError(
    'RETRIEVER',
    `${path} is of a version that this one cannot read; build the index again`,
    { context: { path } },
  );
}
