/**
 * Passages in Qdrant, against a server that answers as its documentation says
 * (`test/support/qdrantServer.ts`): a real one could not be had where these tests run.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { EncoderSettings, TextEncoder } from '../../../../model/encoder/encoder.ts';
import { QdrantClient, qdrantPlace } from '../../../../operators/tools/retrieval/qdrantClient.ts';
import {
  fillQdrant,
  qdrantRetriever,
} from '../../../../operators/tools/retrieval/qdrantRetriever.ts';
import type { Passage, Retriever } from '../../../../operators/tools/retrieval/retriever.ts';
import { millPassages } from '../../../support/gatedRetriever.ts';
import { impatientClock } from '../../../support/impatientClock.ts';
import { type QdrantServer, qdrantServer } from '../../../support/qdrantServer.ts';
import { wordEncoder } from '../../../support/wordEncoder.ts';

const KEY = 'key-of-a-qdrant-5678';
const WORDS = ['mill', 'water', 'wheel', 'weir', 'river', 'program'];
const signal = new AbortController().signal;
let server: QdrantServer;
let clock = impatientClock();
const open: { close(): unknown }[] = [];
beforeEach(async () => {
  server = await qdrantServer(KEY);
  clock = impatientClock();
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
  await server.close();
});

function client(key = KEY): QdrantClient {
  const made = new QdrantClient({
    url: server.url,
    collection: 'wiki',
    key,
    clock,
    timeoutMs: 120_000,
  });
  open.push(made);
  return made;
}

async function fill(passages: readonly Passage[], encoder: TextEncoder = wordEncoder(WORDS)) {
  const told: number[] = [];
  const onProgress = (done: number): void => void told.push(done);
  const filled = await fillQdrant({ client: client(), encoder, passages, signal, onProgress });
  return { ...filled, told };
}

async function opened(encoder: TextEncoder = wordEncoder(WORDS)): Promise<Retriever> {
  const openEncoder = async (settings: Partial<EncoderSettings>): Promise<TextEncoder> => ({
    ...encoder,
    settings: { ...encoder.settings, ...settings },
  });
  const retriever = await qdrantRetriever({ client: client(), openEncoder }, signal);
  open.push(retriever);
  return retriever;
}

describe('a collection', () => {
  test('is made, filled and found in', async () => {
    expect(await fill(millPassages)).toEqual({ put: 3, there: 0, told: [3] });
    expect(server.collections.get('wiki')).toMatchObject({ size: 6, distance: 'Cosine' });
    const retriever = await opened();
    expect(retriever.passages).toBe(3);
    const [wheels, weirs] = await retriever.retrieve(['the water wheel', 'weir'], 1, signal);
    expect(wheels).toEqual([{ ...millPassages[0], score: expect.closeTo(0.816, 3) }]);
    expect(weirs!.map(({ id }) => id)).toEqual(['b']);
    expect(await retriever.retrieve([], 1, signal)).toEqual([]);
  });

  test('orders equal scores by id, even at the end of the list', async () => {
    const twins = ['q', 'd', 'z', 'm'].map((id) => ({ id, contents: 'a mill' }));
    await fill(twins);
    const [found] = await (await opened()).retrieve(['mill'], 2, signal);
    expect(found!.map(({ id }) => id)).toEqual(['d', 'm']);
  });

  test('is filled from where it stopped, without encoding anything again', async () => {
    await fill(millPassages.slice(0, 2));
    const encoder = wordEncoder(WORDS);
    const changed = { ...millPassages[1]!, contents: 'A weir, rewritten.' };
    expect(await fill([millPassages[0]!, changed, millPassages[2]!], encoder)).toMatchObject({
      put: 2,
      there: 1,
    });
    expect(encoder.encoded).toEqual([[changed.contents, millPassages[2]!.contents]]);
    const [found] = await (await opened()).retrieve(['weir'], 1, signal);
    expect(found![0]!.contents).toBe('A weir, rewritten.');
  });

  test('is sent in parts', async () => {
    const many = Array.from({ length: 600 }, (_, i) => ({ id: String(i), contents: `mill ${i}` }));
    expect((await fill(many)).told).toEqual([256, 512, 600]);
    expect(server.collections.get('wiki')!.points.size).toBe(600);
  });

  test('of another encoder is refused, to read and to fill', async () => {
    await fill(millPassages);
    const fewer = wordEncoder(WORDS.slice(1));
    await expect(opened(fewer)).rejects.toThrow(/6 dimensions, but the encoder gives 5/);
    const other = wordEncoder(WORDS, 'x'.repeat(64));
    await expect(opened(other)).rejects.toMatchObject({
      code: 'RETRIEVER',
      message: expect.stringMatching(/different encoder.*wwww/),
    });
    await expect(fill(millPassages, other)).rejects.toThrow(/different encoder/);
  });

  test('is read and filled only with its original settings', async () => {
    const encoder = wordEncoder(WORDS);
    const settings = { ...encoder.settings, queryPrefix: 'ask: ', pooling: 'cls' as const };
    await fill(millPassages, { ...encoder, settings });
    const asked: Partial<EncoderSettings>[] = [];
    const openEncoder = async (given: Partial<EncoderSettings>): Promise<TextEncoder> => {
      asked.push(given);
      return { ...encoder, settings: { ...encoder.settings, ...given } };
    };
    open.push(await qdrantRetriever({ client: client(), openEncoder }, signal));
    expect(asked).toEqual([settings]);
    await expect(fill(millPassages, encoder)).rejects.toThrow(/different encoder, pooling, prefix/);
  });

  test('that does not exist is refused with how to make it', async () => {
    await expect(opened()).rejects.toThrow(
      /wiki does not exist; fill it with `millrace retriever build/,
    );
  });
});

describe('requests', () => {
  test('are tried again when the server is busy, and carry the key', async () => {
    server.failNext(503);
    expect(await fill(millPassages)).toMatchObject({ put: 3 });
    expect(clock.sleeps).toEqual([1000]);
    expect(new Set(server.seen.map(({ headers }) => headers['api-key']))).toEqual(new Set([KEY]));
  });

  test('that are refused report the server’s words', async () => {
    await expect(client('wrong').shape(signal)).rejects.toMatchObject({
      code: 'QDRANT',
      message: expect.stringMatching(/collections\/wiki answers HTTP 401: Invalid API key/),
    });
  });

  test('without an answer mean that the tool is down', async () => {
    const away = new QdrantClient({
      url: 'http://127.0.0.1:1',
      collection: 'wiki',
      key: '',
      clock,
      timeoutMs: 120_000,
    });
    open.push(away);
    await expect(away.shape(signal)).rejects.toMatchObject({ code: 'TOOL_DOWN' });
    expect(clock.sleeps).toEqual([1000, 2000, 3000]);
  });
});

test.each([
  ['qdrant://127.0.0.1:7000/wiki', { url: 'http://127.0.0.1:7000', collection: 'wiki' }],
  ['qdrant://db/wiki-2018', { url: 'http://db:6333', collection: 'wiki-2018' }],
  ['qdrants://db.example/wiki', { url: 'https://db.example', collection: 'wiki' }],
  ['wiki-index', null],
])('%s is the address of a collection', (text, place) => {
  expect(qdrantPlace(text)).toEqual(place);
});

test.each([
  ['qdrant://db', /has no collection/],
  ['qdrant://db/a b', /has no collection/],
  ['qdrant://wi ki/x', /is not a valid URL for a Qdrant/],
  ['qdrant://user:secret-word@db/wiki', /carries credentials/],
])('%s is not the address of a collection', (text, message) => {
  expect(() => qdrantPlace(text)).toThrow(message);
});
