/** An index of passages: built by real usearch, compared with an exhaustive search, resumed, damaged. */
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { draws } from '../../../../base/draws.ts';
import type { TextEncoder } from '../../../../model/encoder/encoder.ts';
import { type BuildOptions, buildIndex } from '../../../../operators/tools/retrieval/buildIndex.ts';
import { IdSet } from '../../../../operators/tools/retrieval/idSet.ts';
import { openRetriever } from '../../../../operators/tools/retrieval/openRetriever.ts';
import type { Hit, Passage, Retriever } from '../../../../operators/tools/retrieval/retriever.ts';
import { temporaryFolder } from '../../../support/folder.ts';

const DIMENSIONS = 12;
const PASSAGES = 900;
const root = temporaryFolder();
const at = (name: string): string => join(root.path, name);
const { signal } = new AbortController();
afterAll(() => root.remove());

/** The vector of a text: near to those of texts that begin with the same number. */
const made = new Map<string, Float64Array>();
function vectorOf(text: string): Float64Array {
  const known = made.get(text);
  if (known !== undefined) return known;
  const [topic, own] = [draws('topic', text.split(' ')[0]!), draws('text', text)];
  const numbers = Float64Array.from(
    { length: DIMENSIONS },
    (_, i) => topic.uniform(i) - 0.5 + 0.4 * (own.uniform(i) - 0.5),
  );
  const length = Math.hypot(...numbers);
  const vector = numbers.map((number) => Math.fround(number / length));
  made.set(text, vector);
  return vector;
}

function encoder(over: Partial<TextEncoder> = {}): TextEncoder {
  return {
    dimensions: DIMENSIONS,
    settings: {
      pooling: 'mean',
      queryPrefix: '',
      passagePrefix: '',
      normalised: true,
      tokensMax: 512,
    },
    digest: 'the encoder of the tests',
    encode: async (texts) => Float32Array.from(texts.flatMap((text) => [...vectorOf(text)])),
    close: async () => undefined,
    ...over,
  };
}

/** The tenth passages are all the same; their ids are not in the order of the file. */
const passages: readonly Passage[] = Array.from({ length: PASSAGES }, (_, i) => ({
  id: `p${(i * 7919) % PASSAGES}`,
  contents: i % 10 === 0 ? '3 the same' : `${i % 30} passage ${i}`,
  ...(i % 2 === 0 ? { title: `title ${i}` } : {}),
}));

function build(to: string, over: Partial<BuildOptions> = {}) {
  return buildIndex({
    async *rows() {
      for (const [i, passage] of passages.entries()) yield { place: i + 1, passage };
    },
    ...{
      corpus: { path: 'corpus.jsonl', bytes: 1 },
      encoder: encoder(),
      encoderFolder: at('encoder'),
      to,
    },
    ...{ exactMax: 0, graphMax: 450, threads: 2, signal },
    onProgress: () => undefined,
    onRefused: () => undefined,
    ...over,
  });
}

const openEncoder = async () => encoder();
const open = (folder: string) => openRetriever(folder, { openEncoder, threads: 2 });

/** Every passage compared, by 64-bit sums. */
function exact(query: string, top: number): readonly string[] {
  const asked = vectorOf(query);
  const scored = passages.map(({ id, contents }) => ({
    id,
    score: vectorOf(contents).reduce((sum, number, i) => sum + number * asked[i]!, 0),
  }));
  scored.sort((a, b) =>
    Math.abs(b.score - a.score) > 1e-12 ? b.score - a.score : a.id < b.id ? -1 : 1,
  );
  return scored.slice(0, top).map(({ id }) => id);
}

const queries = Array.from({ length: 40 }, (_, i) => `${i % 30} query ${i}`);
const idsOf = (hits: readonly Hit[]): readonly string[] => hits.map(({ id }) => id);

let exactly: Retriever;
let byGraph: Retriever;

beforeAll(async () => {
  expect(await build(at('graphs'))).toEqual({ passages: PASSAGES, refused: 0, graphs: 2 });
  expect(await build(at('exact'), { exactMax: PASSAGES })).toMatchObject({ graphs: 0 });
  [exactly, byGraph] = [await open(at('exact')), await open(at('graphs'))];
});
afterAll(async () => {
  await exactly?.close();
  await byGraph?.close();
});

describe('an index', () => {
  test('without graphs gives the exact answers, whole passages, ties by id', async () => {
    const found = await exactly.retrieve(queries, 10, signal);
    expect(found.map(idsOf)).toEqual(queries.map((query) => exact(query, 10)));
    const [[first]] = found as [[Hit]];
    expect(passages).toContainEqual((({ score: _, ...passage }) => passage)(first!));
    const tied = (await exactly.retrieve(['3 the same'], 20, signal))[0]!;
    expect(new Set(tied.map(({ score }) => score)).size).toBe(1);
    expect(idsOf(tied)).toEqual(
      passages
        .filter((_, i) => i % 10 === 0)
        .map(({ id }) => id)
        .sort()
        .slice(0, 20),
    );
  });

  test('with graphs finds what exact search finds, with the same scores, every time', async () => {
    const graphs = await byGraph.retrieve(queries, 10, signal);
    const all = await exactly.retrieve(queries, 10, signal);
    const later = await open(at('graphs'));
    expect(await later.retrieve(queries.slice(0, 9), 10, signal)).toEqual(graphs.slice(0, 9));
    await later.close();
    const hits = graphs.map(
      (found, i) => idsOf(found).filter((id) => idsOf(all[i]!).includes(id)).length,
    );
    expect(hits.reduce((sum, n) => sum + n, 0) / (10 * queries.length)).toBeGreaterThan(0.97);
    const scores = new Map(all[0]!.map(({ id, score }) => [id, score]));
    for (const { id, score } of graphs[0]!) if (scores.has(id)) expect(score).toBe(scores.get(id));
  });

  test('gives all there is if more is asked for, and nothing for no query', async () => {
    for (const retriever of [exactly, byGraph]) {
      expect(retriever.passages).toBe(PASSAGES);
      const [all] = await retriever.retrieve(['1 query'], 5000, signal);
      expect(all).toHaveLength(PASSAGES);
      expect(await retriever.retrieve([], 3, signal)).toEqual([]);
      await expect(retriever.retrieve(['a'], 0, signal)).rejects.toThrow(
        'give a whole number, 1 or more',
      );
    }
  });

  test('is the same to the byte when built again, or stopped and resumed', async () => {
    const digests = (folder: string) =>
      (JSON.parse(readFileSync(join(folder, 'retriever.json'), 'utf8')) as { files: unknown })
        .files;
    const to = at('resumed');
    for (const stage of ['reading', 'encoding', 'graphs'] as const) {
      const stop = new AbortController();
      const over = { signal: stop.signal, onProgress: stopAt(stage, stop) };
      await expect(build(to, over)).rejects.toThrow('stopped');
    }
    let encoded = 0;
    const counting = encoder({
      encode: (texts, as, signal) => {
        encoded += texts.length;
        return encoder().encode(texts, as, signal);
      },
    });
    await build(to, { encoder: counting });
    expect(encoded).toBe(0);
    expect(digests(to)).toEqual(digests(at('graphs')));
  });

  test('is resumed only with the corpus, encoder and settings that it was begun with', async () => {
    const to = at('begun');
    const stop = new AbortController();
    await expect(
      build(to, { signal: stop.signal, onProgress: stopAt('encoding', stop) }),
    ).rejects.toThrow();
    await expect(build(to, { corpus: { path: 'corpus.jsonl', bytes: 2 } })).rejects.toThrow(
      /from another corpus.*delete the folder/,
    );
    await expect(build(to, { encoder: encoder({ digest: 'other' }) })).rejects.toThrow(
      /with another encoder/,
    );
    await expect(open(to)).rejects.toThrow(/not a finished index.*millrace retriever build/);
    await expect(build(at('graphs'))).rejects.toThrow(/already holds an index/);
    await expect(build(root.path)).rejects.toThrow(/is not empty/);
  });

  test('skips and names rows that are not passages or repeat an id', async () => {
    const refused: (readonly [number, string])[] = [];
    const built = await build(at('rows'), {
      exactMax: 9,
      async *rows() {
        yield { place: 1, passage: passages[0]! };
        yield { place: 2, reason: 'not JSON' };
        yield { place: 3, passage: passages[0]! };
        yield { place: 4, passage: { id: 'empty', contents: ' ' } };
      },
      onRefused: (place, reason) => refused.push([place, reason]),
    });
    expect(built).toEqual({ passages: 1, refused: 3, graphs: 0 });
    expect(refused).toEqual([
      [2, 'not JSON'],
      [3, 'field "id": "p0" is a duplicate'],
      [4, 'field "contents": is empty'],
    ]);
    async function* none() {}
    await expect(build(at('none'), { rows: none })).rejects.toThrow(/no usable passage/);
  });

  test('that was damaged is refused with the name of the file', async () => {
    const damaged = (name: string, act: (folder: string) => void): string => {
      cpSync(at('graphs'), at(name), { recursive: true });
      act(at(name));
      return at(name);
    };
    const cut = damaged('cut', (folder) => truncateSync(join(folder, 'vectors.f32'), 100));
    await expect(open(cut)).rejects.toThrow(
      /vectors\.f32 has 100 bytes instead of 43200: copy the folder again/,
    );
    const gone = damaged('gone', (folder) => rmSync(join(folder, 'passages.offsets')));
    await expect(open(gone)).rejects.toThrow(/passages\.offsets is missing/);
    const flipped = (file: string) => (folder: string) => {
      const bytes = readFileSync(join(folder, file));
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(join(folder, file), bytes);
    };
    const graph = damaged('graph', flipped('graph-0-450.usearch'));
    await expect(open(graph)).rejects.toThrow(
      /graph-0-450\.usearch was changed after it was written/,
    );
    const text = damaged('text', flipped('passages.jsonl'));
    await expect(openRetriever(text, { openEncoder, verify: true })).rejects.toThrow(
      /passages\.jsonl was changed after it was written/,
    );
    const later = damaged('later', (folder) =>
      writeFileSync(join(folder, 'retriever.json'), '{"version":2}'),
    );
    await expect(open(later)).rejects.toThrow(/version 2, but this Millrace reads version 1/);
    const none = damaged('nonsense', (folder) =>
      writeFileSync(join(folder, 'retriever.json'), '{"ver'),
    );
    await expect(open(none)).rejects.toThrow(/retriever\.json is damaged/);
  });

  test('is queried only with its own encoder', async () => {
    const other = async () => encoder({ digest: 'another' });
    await expect(openRetriever(at('graphs'), { openEncoder: other })).rejects.toThrow(
      /built with a different encoder.*--encoder FOLDER/,
    );
    const gone = () => Promise.reject(new Error('no such folder'));
    await expect(openRetriever(at('graphs'), { openEncoder: gone })).rejects.toThrow(
      /cannot be opened at .*no such folder.*--encoder FOLDER/,
    );
  });
});

function stopAt(stage: string, stop: AbortController): BuildOptions['onProgress'] {
  return (progress) => {
    const halfway = progress.done > 0 || stage === 'reading';
    if (progress.stage === stage && halfway) stop.abort(new Error('stopped'));
  };
}

test('a set of many ids recognises each that it has seen', () => {
  const ids = new IdSet();
  for (let i = 0; i < 50_000; i++) if (!ids.add(`id ${i}`)) throw new Error(`id ${i}`);
  for (let i = 0; i < 50_000; i += 7) if (ids.add(`id ${i}`)) throw new Error(`id ${i}`);
  expect(ids.add('')).toBe(true);
  expect(ids.add('')).toBe(false);
});
