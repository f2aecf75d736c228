/**
 * The retriever that settings or a command line name: an index's folder, a corpus file by its words alone, or both as one.
 *
 * What is wrong with it fails here.
 */
import { statSync } from 'node:fs';
import { MillraceError } from '../../base/errors.ts';
import { openEncoder } from '../../model/encoder/openEncoder.ts';
import { bm25Retriever } from '../../operators/tools/retrieval/bm25Retriever.ts';
import {
  type FusionMethod,
  fusedRetriever,
} from '../../operators/tools/retrieval/fusedRetriever.ts';
import { openRetriever } from '../../operators/tools/retrieval/openRetriever.ts';
import { readPassages } from '../../operators/tools/retrieval/readPassages.ts';
import type { Retriever } from '../../operators/tools/retrieval/retriever.ts';

/** Where passages are found, and how. */
export interface RetrieverPlace {
  /** A folder that `millrace retriever build` made, or a corpus file: JSON Lines. */
  readonly index: string;
  /** A corpus file whose words are searched beside the index; '' = none. */
  readonly corpus: string;
  readonly fusion: FusionMethod;
  /** Of the index in the fusion `weighted`, 0 to 1; the words have the rest. */
  readonly denseWeight: number;
  /** The encoder's folder; '' = the one that the index was built with. */
  readonly encoder: string;
  /** 0 = as many as the retriever takes by itself. */
  readonly threads: number;
}

/**
 * Opens it. Fails with `USAGE` where nothing is there, as what is there cannot be opened, or with the
 * signal's reason.
 */
export async function retrieverAt(place: RetrieverPlace, signal: AbortSignal): Promise<Retriever> {
  const { index, corpus, fusion: method, denseWeight, encoder, threads } = place;
  if (isFile(index)) {
    if (corpus === '') return bm25Retriever(readPassages(index), signal);
    throw new MillraceError(
      'USAGE',
      `${index} is a corpus, which is searched by its words already; give the folder of an index beside ${corpus} (millrace retriever build)`,
    );
  }
  const dense = await openRetriever(index, {
    openEncoder,
    ...(encoder === '' ? {} : { encoder }),
    ...(threads === 0 ? {} : { threads }),
  });
  if (corpus === '') return dense;
  try {
    const words = await bm25Retriever(readPassages(corpus), signal);
    return fusedRetriever([dense, words], { method, weights: [denseWeight, 1 - denseWeight] });
  } catch (error) {
    await dense.close();
    throw error;
  }
}

function isFile(path: string): boolean {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined) {
    throw new MillraceError(
      'USAGE',
      `there is no ${path}: give the folder of an index (millrace retriever build), or a corpus file of JSON Lines`,
    );
  }
  return there.isFile();
}
