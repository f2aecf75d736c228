/**
 * Builds an index in a folder: reads the corpus, encodes its passages, builds the graphs.
 *
 * The corpus is read to its end first, so what is wrong in it is known before hours of encoding begin.
 * `building.json` says how far a build has come: one that was stopped, or whose machine went down, goes on
 * there. The manifest is written last.
 */
import { open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { makeFolder, replaceFile } from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import type { TextEncoder } from '../../../model/encoder/index.ts';
import { buildGraphs } from './buildGraphs.ts';
import { IdSet } from './idSet.ts';
import { MANIFEST, VECTORS, writeManifest } from './manifest.ts';
import { openPassages, type PassageReader, writePassages } from './passageFile.ts';
import type { Passage } from './retriever.ts';
import { retrieverError } from './retrieverError.ts';
import { rowBytes } from './vectorFile.ts';

/** A row of a corpus and its line or row in the file; or what is wrong there. */
export type CorpusRow =
  | { readonly place: number; readonly passage: Passage }
  | { readonly place: number; readonly reason: string };

/** How far a build has come. */
export interface BuildProgress {
  readonly stage: 'reading' | 'encoding' | 'graphs';
  /** Passages. */
  readonly done: number;
  /** Done before this build began: excluded from the rate. */
  readonly before: number;
  /** Null while the corpus is read. */
  readonly total: number | null;
}

export interface BuildOptions {
  /** The corpus from its beginning. */
  readonly rows: () => AsyncIterable<CorpusRow>;
  /** Identifies the corpus: a build only continues with the same one. */
  readonly corpus: Readonly<Record<string, string | number>>;
  readonly encoder: TextEncoder;
  readonly encoderFolder: string;
  readonly to: string;
  /** The passages' vectors, made elsewhere by the same encoder: nothing is encoded then. */
  readonly vectors?: GivenVectors;
  /** A corpus of at most this many passages has no graph: every query is compared with all of them. */
  readonly exactMax: number;
  /** Most passages in one graph. */
  readonly graphMax: number;
  readonly threads: number;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BuildProgress) => void;
  /** Called for each row that is left out. */
  readonly onRefused: (place: number, reason: string) => void;
}

/** Vectors of a corpus in its order. */
export interface GivenVectors {
  readonly passages: number;
  read(from: number, count: number): Promise<Float32Array>;
}

export interface BuiltIndex {
  readonly passages: number;
  /** Rows left out. */
  readonly refused: number;
  readonly graphs: number;
}

/** Passages encoded between two progress marks; fewer if they are long. */
const WINDOW = { passages: 256, characters: 4 << 20 };
const STATE = 'building.json';

interface State {
  readonly corpus: BuildOptions['corpus'];
  readonly encoder: { readonly digest: string; readonly settings: TextEncoder['settings'] };
  /** Null until the corpus has been read to its end. */
  readonly read: { readonly passages: number; readonly refused: number } | null;
  /** Passages whose vectors are on disk. */
  readonly encoded: number;
}

/**
 * Builds, or continues building. Rejects with the signal's reason if it aborts, and with code `RETRIEVER` if
 * the folder holds something else.
 */
export async function buildIndex(options: BuildOptions): Promise<BuiltIndex> {
  const { to, encoder, signal } = options;
  await makeFolder(to);
  const state = await startOf(options);
  const { passages, refused } = state.read ?? (await readCorpus(options, state));
  const { vectors } = options;
  if (vectors !== undefined && vectors.passages !== passages)
    throw retrieverError(
      `the index has ${vectors.passages} vectors, but the corpus has ${passages} usable passages (${refused} were skipped): give the whole corpus that the index was built from, in its original order`,
      to,
    );
  const read = { ...state, read: { passages, refused } };
  await encodePassages(options, read, passages);
  const { dimensions, settings } = encoder;
  const progress = (done: number): void =>
    options.onProgress({ stage: 'graphs', done, before: 0, total: passages });
  const graphs =
    passages <= options.exactMax
      ? []
      : await buildGraphs(to, new Set(await readdir(to)), {
          ...{ passages, dimensions, signal, normalised: settings.normalised },
          ...{ passagesMax: options.graphMax, threads: options.threads, onProgress: progress },
        });
  signal.throwIfAborted();
  const { digest } = encoder;
  await writeManifest(to, {
    ...{ passages, dimensions, graphs },
    encoder: { folder: options.encoderFolder, digest, settings },
  });
  await rm(join(to, STATE), { force: true });
  return { passages, refused, graphs: graphs.length };
}

/** Where to continue; a new folder starts at nothing. */
async function startOf({ to, corpus, encoder }: BuildOptions): Promise<State> {
  const { digest, settings } = encoder;
  const fresh: State = { corpus, encoder: { digest, settings }, read: null, encoded: 0 };
  const there = await readdir(to);
  if (there.includes(MANIFEST))
    throw retrieverError(`${to} already holds an index: name another folder with --to`, to);
  if (!there.includes(STATE)) {
    if (there.length > 0)
      throw retrieverError(`${to} is not empty: name another folder with --to`, to);
    return fresh;
  }
  const path = join(to, STATE);
  const state = jsonIn(await readFile(path, 'utf8')) as State | undefined;
  const same = (field: 'corpus' | 'encoder'): boolean =>
    isDeepStrictEqual(state?.[field], JSON.parse(JSON.stringify(fresh[field])));
  for (const [field, what] of [
    ['corpus', 'from another corpus, or from this one before it changed'],
    ['encoder', 'with another encoder or other settings'],
  ] as const)
    if (!same(field))
      throw retrieverError(
        `${to} holds an unfinished index, built ${what}: delete the folder, or name another one with --to`,
        path,
      );
  return state as State;
}

async function keep({ to }: BuildOptions, state: State): Promise<void> {
  await replaceFile(join(to, STATE), `${JSON.stringify(state)}\n`);
}

/** Copies the usable part of the corpus to its final place. */
async function readCorpus(
  options: BuildOptions,
  state: State,
): Promise<{ passages: number; refused: number }> {
  const { to, signal, onProgress, onRefused } = options;
  await keep(options, state);
  const writer = await writePassages(to);
  const ids = new IdSet();
  let [passages, refused] = [0, 0];
  const refuse = (place: number, reason: string): void => {
    refused++;
    onRefused(place, reason);
  };
  try {
    for await (const row of options.rows()) {
      if (signal.aborted) break;
      if ('reason' in row) refuse(row.place, row.reason);
      else if (row.passage.contents.trim() === '') refuse(row.place, 'field "contents": is empty');
      else if (!ids.add(row.passage.id))
        refuse(row.place, `field "id": ${JSON.stringify(row.passage.id)} is a duplicate`);
      else {
        await writer.add(row.passage);
        passages++;
        if (passages % WINDOW.passages === 0)
          onProgress({ stage: 'reading', done: passages, before: 0, total: null });
      }
    }
  } finally {
    await writer.close();
  }
  signal.throwIfAborted();
  if (passages === 0)
    throw retrieverError(
      'the corpus has no usable passage: each line is {"id": …, "contents": …}, or has "title" and "text"',
      to,
    );
  const read = { passages, refused };
  await keep(options, { ...state, read });
  return read;
}

async function encodePassages(
  options: BuildOptions,
  state: State,
  passages: number,
): Promise<void> {
  const { to, encoder, signal, onProgress } = options;
  const before = state.encoded;
  const reader = openPassages(to);
  const file = await open(join(to, VECTORS), before === 0 ? 'w' : 'r+');
  try {
    await file.truncate(before * rowBytes(encoder.dimensions));
    for (let done = before; done < passages; ) {
      onProgress({ stage: 'encoding', done, before, total: passages });
      const window = nextPassages(reader, done, passages);
      const texts = window.map(({ contents }) => contents);
      const vectors =
        options.vectors === undefined
          ? await encoder.encode(texts, 'passage', signal)
          : await options.vectors.read(done, window.length);
      const bytes = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
      await file.write(bytes, 0, bytes.length, done * rowBytes(encoder.dimensions));
      await file.datasync();
      done += window.length;
      await keep(options, { ...state, encoded: done });
    }
    onProgress({ stage: 'encoding', done: passages, before, total: passages });
  } finally {
    await file.close();
    reader.close();
  }
}

function nextPassages(reader: PassageReader, from: number, end: number): readonly Passage[] {
  const window: Passage[] = [];
  let characters = 0;
  const full = (): boolean => window.length >= WINDOW.passages || characters >= WINDOW.characters;
  for (let row = from; row < end && !full(); row++) {
    const passage = reader.read(row);
    characters += passage.contents.length;
    window.push(passage);
  }
  return window;
}
