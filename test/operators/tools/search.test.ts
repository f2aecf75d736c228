/**
 * Search over documents in memory: what is found, in which order, and how a corpus is read.
 */

import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CorpusError, readCorpus } from '../../../operators/tools/search/corpus.ts';
import {
  type SearchDocument,
  searchCacheKey,
  searchTool,
} from '../../../operators/tools/search/searchTool.ts';

const signal = new AbortController().signal;

const DOCUMENTS: readonly SearchDocument[] = [
  {
    id: 'mill',
    title: 'Watermill',
    text: 'A watermill turns the power of falling water into work.',
  },
  { id: 'wheel', title: 'Water wheel', text: 'A wheel with buckets, turned by water.' },
  { id: 'race', title: 'Millrace', text: 'The channel that carries water to a mill wheel.' },
  { id: 'cat', title: 'Cat', text: 'A small animal that hunts mice.' },
];

describe('a search', () => {
  it('gives the best matching pages, one a line', async () => {
    const tool = searchTool({ documents: DOCUMENTS, top: 2 });
    expect(await tool.run('millrace channel', signal)).toEqual({
      output: 'Page 1: The channel that carries water to a mill wheel.',
      ok: true,
    });
    const { output } = await tool.run('water wheel', signal);
    expect(output.split('\n')).toEqual([
      'Page 1: A wheel with buckets, turned by water.',
      'Page 2: The channel that carries water to a mill wheel.',
    ]);
  });

  it('finds by the title too', async () => {
    const { output } = await searchTool({ documents: DOCUMENTS }).run('cat', signal);
    expect(output).toBe('Page 1: A small animal that hunts mice.');
  });

  it('says that nothing was found', async () => {
    expect(await searchTool({ documents: DOCUMENTS }).run('zebra', signal)).toEqual({
      output: 'No search results found.',
      ok: true,
    });
  });

  it.each(['', '  \n'])('refuses the empty query %j', async (query) => {
    expect(await searchTool({ documents: DOCUMENTS }).run(query, signal)).toEqual({
      output: 'invalid query',
      ok: false,
    });
  });

  it('keeps the order of equal documents', async () => {
    const twins = ['c', 'a', 'b'].map((id) => ({
      id,
      title: 'Twin',
      text: `the same words, ${id}`,
    }));
    const { output } = await searchTool({ documents: twins }).run('same words', signal);
    expect(output).toBe(
      'Page 1: the same words, c\nPage 2: the same words, a\nPage 3: the same words, b',
    );
  });

  it('cuts a document at code points', async () => {
    const documents = [{ id: 'a', title: 'face', text: '😀😀😀' }];
    const { output } = await searchTool({ documents, charactersMax: 2 }).run('face', signal);
    expect(output).toBe('Page 1: 😀😀...');
  });

  it('is written in its format', async () => {
    const tool = searchTool({
      documents: DOCUMENTS,
      top: 1,
      format: (found) => found.map(({ place, document }) => `${place}. ${document.title}`).join(),
    });
    expect((await tool.run('mice', signal)).output).toBe('1. Cat');
  });

  it.each([
    [{ top: 0 }, /top is 0/],
    [{ charactersMax: 0.5 }, /charactersMax is 0.5/],
  ])('refuses the options %j', (options, message) => {
    expect(() => searchTool({ documents: DOCUMENTS, ...options })).toThrow(message);
  });

  it('refuses two documents with one id', () => {
    expect(() => searchTool({ documents: [DOCUMENTS[0]!, DOCUMENTS[0]!] })).toThrow('"mill"');
  });
});

describe('a corpus', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corpus-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function file(text: string): Promise<string> {
    const path = join(folder, 'corpus.jsonl');
    await writeFile(path, text);
    return path;
  }

  it('is read in its order, without blank lines and a byte order mark', async () => {
    const lines = DOCUMENTS.map((document) => JSON.stringify(document));
    const path = await file(`\uFEFF${lines.join('\r\n')}\n\n`);
    expect(await readCorpus(path)).toEqual(DOCUMENTS);
  });

  it.each([
    [
      '{"id": "a", "title": "t", "text": "x"}\n\n{"id": "b", "title": "t"}',
      3,
      'text',
      'is missing',
    ],
    ['{"id": 7, "title": "t", "text": "x"}', 1, 'id', 'is not a string'],
    ['{"id": ', 1, '', 'not JSON'],
    ['[1]', 1, '', 'not an object'],
    ['null', 1, '', 'not an object'],
  ])('of %j is refused at line %j, field %j', async (text, line, field, reason) => {
    const path = await file(text);
    const error = await readCorpus(path).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(CorpusError);
    expect(error).toMatchObject({ file: path, line, field });
    expect((error as Error).message).toContain(`${path}:${line}: `);
    expect((error as Error).message).toContain(reason);
  });

  it('that does not exist is refused by its name', async () => {
    await expect(readCorpus(join(folder, 'none.jsonl'))).rejects.toThrow('none.jsonl');
  });
});

describe('the key of a query', () => {
  const vectors = JSON.parse(
    readFileSync(new URL('../../vectors/cache-key.json', import.meta.url), 'utf8'),
  ) as { cases: { id: string; args: { query: string }; expect: string }[] };

  it.each(vectors.cases.map(({ id, args, expect: key }) => [id, args.query, key] as const))(
    'equals that of the reference: %s',
    (_id, query, key) => {
      expect(searchCacheKey(query)).toBe(key);
    },
  );
});
