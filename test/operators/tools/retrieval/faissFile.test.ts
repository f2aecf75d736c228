/** Fixtures written by faiss-cpu 1.15.1: six unit vectors of four numbers, and what it finds for three queries. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { faissVectors } from '../../../../cli/retriever/faissVectors.ts';
import { buildIndex } from '../../../../operators/tools/retrieval/buildIndex.ts';
import { openFaiss } from '../../../../operators/tools/retrieval/faissFile.ts';
import { openRetriever } from '../../../../operators/tools/retrieval/openRetriever.ts';
import { wordEncoder } from '../../../support/wordEncoder.ts';

const fixture = (name: string): string => new URL(`fixtures/${name}`, import.meta.url).pathname;
interface Found {
  readonly queries: number[][];
  readonly scores: number[][];
  readonly rows: number[][];
  readonly vectors: number[][];
}
let found: Found;
let folder: string;
beforeAll(async () => {
  found = JSON.parse(await readFile(fixture('flat.json'), 'utf8')) as Found;
  folder = await mkdtemp(join(tmpdir(), 'millrace-faiss-'));
});
afterAll(() => rm(folder, { recursive: true }));

const never = new AbortController().signal;
/** Queries are the numbers of a vector, written out. */
const encoder = {
  ...wordEncoder(['a', 'b', 'c', 'd']),
  async encode(texts: readonly string[]) {
    return Float32Array.from(texts.flatMap((text) => JSON.parse(text) as number[]));
  },
};

async function* corpus(count: number) {
  for (let i = 0; i < count; i++)
    yield { place: i + 1, passage: { id: `p${i}`, title: '', contents: `passage ${i}` } };
}

function build(to: string, index: string, passages: number) {
  return faissVectors(fixture(index), encoder).then((vectors) =>
    buildIndex({
      ...{ rows: () => corpus(passages), corpus: { path: 'c' }, encoder, encoderFolder: 'e', to },
      ...{ vectors, exactMax: 100, graphMax: 100, threads: 1, signal: never },
      ...{ onProgress: () => undefined, onRefused: () => undefined },
    }).finally(() => vectors.close()),
  );
}

describe('a flat index of FAISS', () => {
  test.each([
    ['flatIp.index', 'inner product'],
    ['flatL2.index', 'distance'],
  ])('%s gives its vectors', async (name, metric) => {
    const file = await openFaiss(fixture(name));
    expect([file.dimensions, file.passages, file.metric]).toEqual([4, 6, metric]);
    expect([...(await file.read(1, 2))]).toEqual(found.vectors.slice(1, 3).flat());
    await file.close();
  });

  test('is searched as FAISS searches it', async () => {
    const to = join(folder, 'index');
    expect(await build(to, 'flatIp.index', 6)).toMatchObject({ passages: 6, refused: 0 });
    const retriever = await openRetriever(to, { openEncoder: async () => encoder, threads: 1 });
    for (const [i, query] of found.queries.entries()) {
      const [hits] = await retriever.retrieve([JSON.stringify(query)], 3, never);
      expect(hits!.map(({ id }) => id)).toEqual(found.rows[i]!.map((row) => `p${row}`));
      for (const [k, { score }] of hits!.entries()) expect(score).toBeCloseTo(found.scores[i]![k]!);
    }
    await retriever.close();
  });

  test('needs the corpus that it was made of, and its encoder', async () => {
    await expect(build(join(folder, 'other'), 'flatIp.index', 5)).rejects.toThrow(
      'the index has 6 vectors, but the corpus has 5 usable passages',
    );
    const three = wordEncoder(['a', 'b', 'c']);
    await expect(faissVectors(fixture('flatIp.index'), three)).rejects.toThrow(
      'has vectors of 4 numbers, but the encoder makes 3',
    );
  });

  test.each([
    ['hnsw.index', 'is HNSW, which does not hold the original vectors'],
    ['ivf.index', 'is IVF,Flat'],
    ['flat.json', 'is not a FAISS index'],
  ])('is all that is read: %s is refused by name', async (name, message) => {
    await expect(openFaiss(fixture(name))).rejects.toThrow(message);
  });

  test('that is cut is damaged', async () => {
    const bytes = await readFile(fixture('flatIp.index'));
    const path = join(folder, 'cut.index');
    await writeFile(path, bytes.subarray(0, bytes.length - 4));
    await expect(openFaiss(path)).rejects.toThrow('is damaged: its header says 6 vectors');
  });
});
