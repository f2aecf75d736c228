/**
 * Passages in a collection of Qdrant, for corpora that are too large for one machine: it has vectors and
 * texts, this process encodes queries.
 *
 * A point's payload is the passage, with the encoder of its vector and the settings that queries need. Ties
 * by id: a few points more than requested are fetched, so that equal scores at the end are ordered too.
 */
import { createHash } from 'node:crypto';
import { MillraceError } from '../../../base/index.ts';
import type { EncoderSettings, TextEncoder } from '../../../model/encoder/index.ts';
import type { Payload, Point, QdrantClient } from './qdrantClient.ts';
import { byScore, type Hit, type Passage, type Retriever } from './retriever.ts';

/** Points fetched beyond those requested. */
const MORE = 16;
/** Passages encoded and sent at once; fewer if they are long. */
const WINDOW = { passages: 256, characters: 2 << 20 };

export interface QdrantRetrieverOptions {
  readonly client: QdrantClient;
  /** Opens the encoder, with the settings of those vectors if the collection says which. */
  readonly openEncoder: (settings: Partial<EncoderSettings>) => Promise<TextEncoder>;
}

/**
 * The passages of a collection; it owns client and encoder. Fails with code `RETRIEVER` if the collection
 * does not exist or uses another encoder.
 */
export async function qdrantRetriever(
  { client, openEncoder }: QdrantRetrieverOptions,
  signal: AbortSignal,
): Promise<Retriever> {
  const shape = await client.shape(signal);
  if (shape === null || shape.points === 0) {
    const lacks = shape === null ? 'does not exist' : 'is empty';
    throw wrong(
      client,
      `${lacks}; fill it with \`millrace retriever build CORPUS.jsonl --encoder FOLDER --to qdrant://…\``,
    );
  }
  const mark = markIn(await client.anyPayload(signal));
  const encoder = await openEncoder(mark === null ? {} : settingsIn(mark));
  try {
    checkEncoder(client, encoder, { dimensions: shape.dimensions, mark });
  } catch (error) {
    await encoder.close();
    throw error;
  }
  return {
    passages: shape.points,
    async retrieve(queries, top, asking) {
      if (queries.length === 0) return [];
      const vectors = rowsOf(await encoder.encode(queries, 'query', asking), encoder.dimensions);
      const found = await client.nearest(vectors, top + MORE, asking);
      return queries.map((_, i) =>
        (found[i] ?? [])
          .map(({ score, payload }) => hitOf(payload, score, client))
          .sort(byScore)
          .slice(0, top),
      );
    },
    async close() {
      client.close();
      await encoder.close();
    },
  };
}

function checkEncoder(
  client: QdrantClient,
  encoder: TextEncoder,
  { dimensions, mark }: { readonly dimensions: number | null; readonly mark: string | null },
): void {
  if (dimensions !== encoder.dimensions) {
    throw wrong(
      client,
      `has vectors of ${dimensions ?? 'other'} dimensions, but the encoder gives ${encoder.dimensions}: use the encoder that it was filled with`,
    );
  }
  if (mark === null || mark === markOf(encoder)) return;
  throw wrong(
    client,
    `was filled with a different encoder, pooling, prefix or text length (${mark}): use the same`,
  );
}

function hitOf({ id, contents, title }: Payload, score: number, client: QdrantClient): Hit {
  if (typeof id !== 'string' || typeof contents !== 'string') {
    throw wrong(client, 'has a point whose payload lacks id or contents as text');
  }
  return { id, contents, ...(typeof title === 'string' ? { title } : {}), score };
}

export interface FillOptions {
  readonly client: QdrantClient;
  readonly encoder: TextEncoder;
  readonly passages: AsyncIterable<Passage> | Iterable<Passage>;
  readonly signal: AbortSignal;
  /** Called with the number of passages in the collection, including earlier ones. */
  readonly onProgress: (done: number) => void;
}

/** What happened to the passages. */
export interface Filled {
  readonly put: number;
  /** Already there, word for word. */
  readonly there: number;
}

/**
 * Puts passages into a collection, which is created if missing. Passages that are already there word for word
 * are not encoded again, so a fill that was stopped goes on when it is begun again. Fails as
 * `qdrantRetriever` does.
 */
export async function fillQdrant(options: FillOptions): Promise<Filled> {
  const { client, encoder, passages, signal, onProgress } = options;
  const shape = await client.shape(signal);
  if (shape === null) {
    const distance = encoder.settings.normalised ? 'Cosine' : 'Dot';
    await client.create(encoder.dimensions, distance, signal);
  } else {
    const mark = markIn(await client.anyPayload(signal));
    checkEncoder(client, encoder, { dimensions: shape.dimensions, mark });
  }
  let [put, there, characters] = [0, 0, 0];
  let window: Passage[] = [];
  const flush = async (): Promise<void> => {
    if (window.length === 0) return;
    const sent = await putWindow(window, options);
    put += sent;
    there += window.length - sent;
    onProgress(put + there);
    window = [];
    characters = 0;
  };
  for await (const passage of passages) {
    signal.throwIfAborted();
    window.push(passage);
    characters += passage.contents.length;
    if (window.length >= WINDOW.passages || characters >= WINDOW.characters) await flush();
  }
  await flush();
  return { put, there };
}

/** How many of them had to be sent. */
async function putWindow(
  window: readonly Passage[],
  { client, encoder, signal }: FillOptions,
): Promise<number> {
  const known = await client.payloads(
    window.map(({ id }) => pointId(id)),
    signal,
  );
  const missing = window.filter((passage) => !isSame(passage, known.get(pointId(passage.id))));
  if (missing.length === 0) return 0;
  const texts = missing.map(({ contents }) => contents);
  const vectors = rowsOf(await encoder.encode(texts, 'passage', signal), encoder.dimensions);
  const mark = markOf(encoder);
  const points = missing.map(
    (passage, i): Point => ({
      id: pointId(passage.id),
      vector: vectors[i]!,
      payload: { ...passage, encoder: mark },
    }),
  );
  await client.put(points, signal);
  return points.length;
}

function isSame({ contents, title }: Passage, payload: Payload | undefined): boolean {
  return payload !== undefined && payload.contents === contents && payload.title === title;
}

function rowsOf(vectors: Float32Array, dimensions: number): number[][] {
  return Array.from({ length: vectors.length / dimensions }, (_, row) => [
    ...vectors.subarray(row * dimensions, (row + 1) * dimensions),
  ]);
}

/**
 * Points are identified by numbers or UUIDs: this is a UUID (of the version for custom forms) derived from a
 * passage's id.
 */
function pointId(id: string): string {
  const hex = createHash('sha256').update(id).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** Identifies the encoder with its settings: short enough to be in every point. */
function markOf({ digest, settings }: TextEncoder): string {
  const { pooling, queryPrefix, passagePrefix, normalised, tokensMax } = settings;
  return JSON.stringify([
    ...[digest.slice(0, 16), pooling, queryPrefix, passagePrefix, normalised, tokensMax],
  ]);
}

/** Null if another program has put the points. */
function markIn(payload: Payload | null): string | null {
  const mark = payload?.encoder;
  return typeof mark === 'string' && mark.startsWith('["') ? mark : null;
}

function settingsIn(mark: string): EncoderSettings {
  const [, pooling, queryPrefix, passagePrefix, normalised, tokensMax] = JSON.parse(mark);
  return { pooling, queryPrefix, passagePrefix, normalised, tokensMax };
}

function wrong({ name }: QdrantClient, why: string): MillraceError<'RETRIEVER'> {
  return new MillraceError('RETRIEVER', `${name} ${why}`);
}
