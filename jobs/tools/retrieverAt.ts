/**
 * The retriever that settings or a command line name: an index's folder or a Qdrant collection, a corpus file
 * searched by words, or an index combined with words.
 *
 * Anything wrong with it fails here.
 */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MillraceError, type SleepClock, sleepClock, systemClock } from '../../base/index.ts';
import { type EncoderSettings, openEncoder } from '../../model/encoder/index.ts';
import {
  bm25Retriever,
  type FusionMethod,
  fusedRetriever,
  MANIFEST,
  openPassages,
  openRetriever,
  PASSAGES,
  type Passage,
  QdrantClient,
  qdrantPlace,
  qdrantRetriever,
  type Retriever,
} from '../../operators/tools/retrieval/index.ts';
import { corpusPassages } from './corpusRows.ts';

/** Where to find passages, and how. */
export interface RetrieverPlace {
  /** A folder that `millrace retriever build` made, `qdrant://host:6333/collection`, or a corpus file. */
  readonly index: string;
  /** How words count besides the index; `none` = no search by words (default). */
  readonly fusion?: FusionMethod | 'none';
  /** The corpus file for these words; '' = the index's own passages (default). */
  readonly corpus?: string;
  /** Weight of the index in the fusion `weighted`, 0 to 1; the words have the rest (default 0.5). */
  readonly denseWeight?: number;
  /** The encoder's folder; '' = the one that the index was built with (default). */
  readonly encoder?: string;
  /** A Qdrant's; '' = none (default). */
  readonly key?: string;
  /** For requests to a Qdrant (default: the system's). */
  readonly clock?: SleepClock;
}

/** The file that identifies an index, as it has the digests of all others; '' if it is not a file. */
export function indexFile(index: string): string {
  if (index === '' || qdrantPlace(index) !== null) return '';
  return statSync(index, { throwIfNoEntry: false })?.isDirectory() === true
    ? resolve(index, MANIFEST)
    : resolve(index);
}

/**
 * Opens it. Fails with `USAGE` if nothing is there, with the reason if it cannot be opened, or with the
 * signal's reason.
 */
export async function retrieverAt(place: RetrieverPlace, signal: AbortSignal): Promise<Retriever> {
  const { index, fusion = 'none', corpus = '', denseWeight = 0.5 } = place;
  const inQdrant = qdrantPlace(index) !== null;
  if (!inQdrant && isFile(index)) {
    if (fusion === 'none') return bm25Retriever(corpusPassages(index), signal);
    throw new MillraceError(
      'USAGE',
      `${index} is a corpus and already searched by words: fusion needs an index (millrace retriever build)`,
    );
  }
  if (inQdrant && fusion !== 'none' && corpus === '') {
    throw new MillraceError(
      'USAGE',
      `to search ${index} by words too, give the corpus file that the collection was filled from`,
    );
  }
  const dense = inQdrant ? await qdrantAt(place, signal) : await folderAt(place);
  if (fusion === 'none') return dense;
  try {
    const byWords = await wordsOf(index, corpus, signal);
    const weights = [denseWeight, 1 - denseWeight];
    return fusedRetriever([dense, byWords], { method: fusion, weights });
  } catch (error) {
    await dense.close();
    throw error;
  }
}

/** The words of a corpus file, or of the index's own passages, which are then read in place. */
async function wordsOf(index: string, corpus: string, signal: AbortSignal): Promise<Retriever> {
  if (corpus !== '') return bm25Retriever(corpusPassages(corpus), signal);
  const kept = openPassages(index);
  try {
    const passages = corpusPassages(join(index, PASSAGES));
    const read = async (row: number): Promise<Passage> => kept.read(row);
    const words = await bm25Retriever(passages, signal, read);
    return { ...words, close: async () => kept.close() };
  } catch (error) {
    kept.close();
    throw error;
  }
}

function folderAt({ index, encoder = '' }: RetrieverPlace): Promise<Retriever> {
  return openRetriever(index, { openEncoder, ...(encoder === '' ? {} : { encoder }) });
}

async function qdrantAt(
  { index, encoder: folder = '', key = '', clock = sleepClock(systemClock) }: RetrieverPlace,
  signal: AbortSignal,
): Promise<Retriever> {
  if (folder === '') {
    throw new MillraceError(
      'USAGE',
      `${index} does not record its encoder: give the folder of the encoder that it was filled with`,
    );
  }
  const client = new QdrantClient({ ...qdrantPlace(index)!, key, clock });
  try {
    const opened = (settings: Partial<EncoderSettings>) => openEncoder(folder, settings);
    return await qdrantRetriever({ client, openEncoder: opened }, signal);
  } catch (error) {
    client.close();
    throw error;
  }
}

function isFile(path: string): boolean {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined) {
    throw new MillraceError(
      'USAGE',
      `${path} does not exist: give the folder of an index (millrace retriever build), or a corpus file (JSON Lines)`,
    );
  }
  return there.isFile();
}
