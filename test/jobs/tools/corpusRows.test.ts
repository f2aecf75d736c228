/** A corpus file: its forms, and what is said of a row that is not a passage. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { corpusPassages } from '../../../jobs/tools/corpusRows.ts';
import type { Passage } from '../../../operators/tools/retrieval/retriever.ts';

describe('a corpus file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'passages-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function read(text: string): Promise<Passage[]> {
    const file = join(folder, 'corpus.jsonl');
    await writeFile(file, text);
    const passages: Passage[] = [];
    for await (const passage of corpusPassages(file)) passages.push(passage);
    return passages;
  }

  test('may hold rows of FlashRAG and of the search tool', async () => {
    const rows = [
      '\uFEFF{"id": 3, "contents": "\\"Weir\\"\\nA weir."}',
      '',
      '{"id": "4", "title": "Mill", "text": "A mill."}\r',
      '{"id": "5", "contents": "One.", "title": "T", "url": null}',
      '{"id": "6", "title": "", "text": "Two."}',
    ];
    expect(await read(rows.join('\n'))).toEqual([
      { id: '3', contents: '"Weir"\nA weir.' },
      { id: '4', contents: 'Mill\nA mill.', title: 'Mill' },
      { id: '5', contents: 'One.', title: 'T' },
      { id: '6', contents: 'Two.' },
    ]);
  });

  test.each([
    ['{"id": "1"}', /corpus\.jsonl:2: field "contents": is missing, and so is text/],
    ['{"contents": "x"}', /:2: field "id": is missing/],
    ['{"id": "1", "contents": 7}', /:2: field "contents": is not a string/],
    ['[1]', /:2: .*JSON object/],
    ['{', /:2: .*JSON/],
  ])('with a wrong row is refused by line and field: %s', async (row, message) => {
    await expect(read(`{"id": "0", "contents": "x"}\n${row}\n`)).rejects.toThrow(message);
  });
});
