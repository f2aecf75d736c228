import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readCall } from '../../../operators/deepAgent/tools/readCall.ts';
import { readLibrary } from '../../../operators/deepAgent/tools/readLibrary.ts';

const folder = mkdtempSync(join(tmpdir(), 'library-'));
afterAll(() => rmSync(folder, { recursive: true }));

const line = (over: object = {}): string =>
  JSON.stringify({
    name: 'f',
    description: 'Does.',
    parameters: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
    ...over,
  });

function file(...lines: readonly string[]): string {
  const path = join(folder, 'library.jsonl');
  writeFileSync(path, lines.join('\n'));
  return path;
}

describe('a library of functions', () => {
  test('is read, bare or wrapped, and keeps its order', async () => {
    const wrapped = JSON.stringify({ type: 'function', function: { name: 'g', description: '' } });
    const docs = await readLibrary(file(`\uFEFF${line()}`, '', wrapped));
    expect(docs).toEqual([
      JSON.parse(line()),
      { name: 'g', description: '', parameters: { type: 'object', properties: {} } },
    ]);
  });

  test.each([
    ['{', /library\.jsonl:2: not JSON/],
    ['[]', /library\.jsonl:2: /],
    [line({ name: 7 }), /library\.jsonl:2: field "name": /],
    [line({ name: '</tool_call>' }), /:2: field "name": must have 1 to 64 characters/],
    [line({ name: 'g', description: null }), /:2: field "description": /],
    [
      line({ name: 'g', parameters: { type: 'array', properties: {} } }),
      /:2: field "parameters\.type": /,
    ],
    [
      line({ name: 'g', parameters: { type: 'object', properties: {}, required: ['b'] } }),
      /:2: field "parameters\.required": "b" is not one of the properties/,
    ],
    [line(), /:2: field "name": "f" is defined on an earlier line/],
  ])('with an error is refused by line and field: %s', async (second, message) => {
    await expect(readLibrary(file(line(), second))).rejects.toMatchObject({
      code: 'TOOL_LIBRARY',
      message: expect.stringMatching(message) as unknown,
    });
  });

  test('that is empty or missing is refused with an example', async () => {
    await expect(readLibrary(file(''))).rejects.toMatchObject({ code: 'TOOL_LIBRARY' });
    await expect(readLibrary(join(folder, 'none'))).rejects.toMatchObject({ code: 'TOOL_LIBRARY' });
  });
});

describe('a library in a benchmark’s own form', () => {
  const at = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };

  test('is read from ToolBench’s corpus, each function once', async () => {
    const api = {
      ...{ category_name: 'Sports', tool_name: 'Ball', api_name: 'Get Score' },
      api_description: 'Scores, "live".',
      required_parameters: [{ name: 'game', type: 'STRING', description: 'Which', default: '' }],
      optional_parameters: [],
      method: 'GET',
      template_response: {},
    };
    const cell = `"${JSON.stringify(api).replaceAll('"', '""')}"`;
    const corpus = `docid\tdocument_content\n1\t${cell}\n2\t${cell}\n`;
    expect(await readLibrary(at('corpus.tsv', corpus))).toEqual([
      {
        name: 'get_score_for_ball',
        description: 'Scores, "live".',
        parameters: {
          type: 'object',
          properties: { game: { type: 'string', description: 'Which' } },
          ...{ required: ['game'], optional: [] },
        },
      },
    ]);
    await expect(readLibrary(at('bad.tsv', 'docid\tdocument_content\n1\t{}\n'))).rejects.toThrow(
      /bad\.tsv, row 1: field "document_content\.tool_name"/,
    );
  });

  test('is read from RestBench’s specification, a function per endpoint', async () => {
    const spec = {
      openapi: '3.0.0',
      paths: {
        '/movie/{movie_id}/keywords': {
          parameters: [
            { name: 'movie_id', in: 'path', required: true, schema: { type: 'integer' } },
          ],
          get: { summary: 'Keywords', description: 'Of a movie.' },
          post: {
            requestBody: {
              content: {
                'application/json': {
                  schema: {
                    properties: { word: { type: 'string', description: 'One' } },
                    required: ['word'],
                  },
                },
              },
            },
          },
        },
      },
    };
    const docs = await readLibrary(at('tmdb_oas.json', JSON.stringify(spec)));
    const id = { type: 'integer', description: '' };
    expect(docs).toEqual([
      {
        name: 'get_movie_movie_id_keywords',
        description: 'GET /movie/{movie_id}/keywords. Keywords. Of a movie.',
        parameters: { type: 'object', properties: { movie_id: id }, required: ['movie_id'] },
      },
      {
        name: 'post_movie_movie_id_keywords',
        description: 'POST /movie/{movie_id}/keywords',
        parameters: {
          type: 'object',
          properties: { movie_id: id, word: { type: 'string', description: 'One' } },
          required: ['movie_id', 'word'],
        },
      },
    ]);
    await expect(readLibrary(at('no.json', '{}'))).rejects.toThrow(/no\.json: field "paths"/);
  });
});

describe('a call of a library function', () => {
  const doc = JSON.parse(line());
  const docOf = (name: string) => (name === 'f' ? doc : undefined);

  test.each([
    ['{"name": "f", "arguments": {"a": 1}}', null],
    ['{"name": "f", "arguments": {"a": 1, "code": "x\ny"}}', null],
    ['{"name": "f"}', 'f needs the argument "a"'],
    ['{"name": "f", "arguments": {"a": "1"}}', /the argument "a" of f does not fit/],
    ['{"name": "f", "arguments": [1]}', 'the "arguments" are one JSON object'],
    ['{"name": "constructor", "arguments": {}}', 'there is no tool named "constructor"'],
    ['{"arguments": {}}', 'the call has no "name"'],
    ['null', 'a call is one JSON object with "name" and "arguments"'],
  ])('with %s', (body, fault) => {
    const read = readCall(body, docOf, 'repaired');
    if (fault instanceof RegExp) expect(read.fault).toMatch(fault);
    else expect(read.fault).toBe(fault);
  });

  test('is not checked against the schema in reference mode', () => {
    expect(readCall('{"name": "f", "arguments": {"a": "1"}}', docOf, 'reference').fault).toBeNull();
  });
});
