/**
 * What `--index` may name: an index, a corpus, a collection, and words with each; with a real encoder of a
 * few thousand numbers.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { corpusRows } from '../../../jobs/tools/corpusRows.ts';
import { type RetrieverPlace, retrieverAt } from '../../../jobs/tools/retrieverAt.ts';
import { openEncoder } from '../../../model/encoder/openEncoder.ts';
import { buildIndex } from '../../../operators/tools/retrieval/buildIndex.ts';
import { QdrantClient } from '../../../operators/tools/retrieval/qdrantClient.ts';
import { fillQdrant } from '../../../operators/tools/retrieval/qdrantRetriever.ts';
import type { Hit, Retriever } from '../../../operators/tools/retrieval/retriever.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { millPassages } from '../../support/gatedRetriever.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { type QdrantServer, qdrantServer } from '../../support/qdrantServer.ts';
import { tinyEncoder } from '../../support/tinyEncoder.ts';

const folder = temporaryFolder();
const at = (name: string): string => join(folder.path, name);
const corpus = at('mill.jsonl');
const index = at('index');
const { signal } = new AbortController();
let encoder: string;
let server: QdrantServer;
let collection: string;
const open: Retriever[] = [];

beforeAll(async () => {
  writeFileSync(corpus, millPassages.map((passage) => JSON.stringify(passage)).join('\n'));
  encoder = await tinyEncoder(at('e5-tiny'), 'bert', { pooling: 'mean' });
  server = await qdrantServer();
  collection = `${server.url.replace('http', 'qdrant')}/mill`;
  const opened = await openEncoder(encoder);
  await buildIndex({
    ...{ rows: () => corpusRows(corpus), corpus: { path: corpus }, encoder: opened },
    ...{ encoderFolder: encoder, to: index, exactMax: 100, graphMax: 100, threads: 1, signal },
    ...{ onProgress: () => undefined, onRefused: () => undefined },
  });
  const clock = impatientClock();
  const client = new QdrantClient({
    url: server.url,
    collection: 'mill',
    key: '',
    clock,
    timeoutMs: 120_000,
  });
  const passages = millPassages;
  await fillQdrant({ client, encoder: opened, passages, signal, onProgress: () => undefined });
  client.close();
  await opened.close();
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});
afterAll(async () => {
  await server.close();
  await folder.remove();
});

async function asked(place: Omit<RetrieverPlace, 'index'> & { index?: string }): Promise<Hit[]> {
  const clock = impatientClock((ms) => ms >= 60_000);
  const retriever = await retrieverAt({ index, clock, ...place }, signal);
  open.push(retriever);
  expect(retriever.passages).toBe(3);
  const [hits] = await retriever.retrieve(['water of the wheel'], 3, signal);
  return hits!;
}
const ids = (hits: readonly Hit[]): string[] => hits.map(({ id }) => id);

test('a retriever may be an index, a Qdrant collection, or either with word search', async () => {
  const [dense, words] = [await asked({}), await asked({ index: corpus })];
  expect([dense.length, ids(words)]).toEqual([3, ['a', 'b', 'c']]);
  const far = await asked({ index: collection, encoder });
  expect(ids(far)).toEqual(ids(dense));
  for (const [i, hit] of far.entries()) {
    const { score, ...passage } = dense[i]!;
    expect(hit).toEqual({ ...passage, score: expect.closeTo(score, 5) });
  }
  const both = await asked({ fusion: 'rrf' });
  const rank = (hits: readonly Hit[], id: string): number => 1 / (61 + ids(hits).indexOf(id));
  for (const { id, score, contents } of both) {
    expect(score).toBeCloseTo(rank(dense, id) + rank(words, id), 12);
    expect(millPassages.find((passage) => passage.id === id)!.contents).toBe(contents);
  }
  expect(await asked({ fusion: 'rrf', corpus })).toEqual(both);
  expect(ids(await asked({ index: collection, encoder, fusion: 'rrf', corpus }))).toEqual(
    ids(both),
  );
  const byWords = await asked({ fusion: 'weighted', denseWeight: 0 });
  expect(ids(byWords)).toEqual(['a', 'b', 'c']);
});

test.each<[string, () => RetrieverPlace, RegExp]>([
  ['words beside words', () => ({ index: corpus, fusion: 'rrf' }), /already searched by words/],
  [
    'nothing there',
    () => ({ index: at('none') }),
    /none does not exist: give the folder of an index/,
  ],
  ['a folder that is none', () => ({ index: folder.path }), /is not a finished index/],
  [
    'a collection without an encoder',
    () => ({ index: collection }),
    /give the folder of the encoder/,
  ],
  [
    'a collection without its words',
    () => ({ index: collection, encoder, fusion: 'rrf' }),
    /give the corpus file/,
  ],
])('a retriever at %s is refused', async (_, place, message) => {
  await expect(retrieverAt(place(), signal)).rejects.toThrow(message);
});
