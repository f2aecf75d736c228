/** The search tool over a retriever: its texts, and a server that is asked for them. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { remoteRetriever } from '../../../../operators/tools/retrieval/remoteRetriever.ts';
import type { Hit } from '../../../../operators/tools/retrieval/retriever.ts';
import {
  passagesText,
  retrieverTool,
} from '../../../../operators/tools/retrieval/retrieverTool.ts';
import { gatedRetriever } from '../../../support/gatedRetriever.ts';
import { impatientClock } from '../../../support/impatientClock.ts';
import {
  answer,
  type Behaviour,
  hang,
  inTurn,
  reset,
  type ScriptedServer,
  scriptedServer,
} from '../../../support/scriptedServer.ts';

const signal = new AbortController().signal;
const hits = (...texts: readonly string[]): Hit[] =>
  texts.map((contents, i) => ({ id: String(i), contents, score: 1 }));

describe('the text of a search', () => {
  test('has the passages cut and separated by blank lines, as in the papers’ local search', () => {
    const shown = passagesText(hits('"One"\nfirst text', 'a'.repeat(30), 'last\n'), {
      ...{ charactersMax: 16, form: 'documents' },
    });
    expect(shown).toBe(`"One"\nfirst text\n\n${'a'.repeat(16)}...\n\nlast`);
  });

  test('may be numbered pages, as in the papers’ web search', () => {
    const options = { charactersMax: 5, form: 'pages' } as const;
    expect(passagesText(hits('first text', 'two'), options)).toBe('Page 1: first...\nPage 2: two');
    expect(passagesText([], options)).toBe('No search results found.');
  });

  test('has no invisible characters', () => {
    const options = { charactersMax: 100, form: 'documents' } as const;
    expect(passagesText(hits('a\u202eb\u200bc\u0007'), options)).toBe('abc');
  });
});

test('the search tool requests its number of passages, and for nothing on an empty query', async () => {
  const retriever = gatedRetriever();
  const options = { top: 1, charactersMax: 100, form: 'documents', concurrencyMax: 2 } as const;
  const tool = retrieverTool({ retriever, ...options });
  expect(await tool.run(' water of the wheel ', signal)).toEqual({
    output: 'A mill race carries water to the wheel.',
    ok: true,
  });
  expect(await tool.run(' \n', signal)).toEqual({ output: 'invalid query', ok: false });
  expect(retriever.calls).toEqual([{ queries: ['water of the wheel'], top: 1 }]);
  await tool.close();
  expect(retriever.closed).toBe(true);
});

describe('a retriever on a server', () => {
  let server: ScriptedServer;
  afterEach(() => server.close());
  const passage = { id: '7', contents: 'A mill.' };
  const good = answer({ result: [[{ document: passage, score: 0.5 }]] });

  async function world(behaviour: Behaviour, { path = '', key = '', triesMax = 3 } = {}) {
    server = await scriptedServer(behaviour);
    const clock = impatientClock();
    const said: string[] = [];
    const retriever = remoteRetriever({
      ...{ url: `${server.url}${path}`, key, clock, triesMax, retryDelayMs: 500 },
      ...{ timeoutMs: 120_000, report: (line: string) => void said.push(line) },
    });
    const options = { top: 2, charactersMax: 100, form: 'documents', concurrencyMax: 2 } as const;
    return { clock, said, retriever, tool: retrieverTool({ retriever, ...options }) };
  }

  test.each(['', '/retrieve'])('is queried at /retrieve with the address "%s"', async (path) => {
    const { retriever } = await world(good, { path, key: 'secret-of-a-retriever' });
    expect(await retriever.retrieve(['mill'], 2, signal)).toEqual([[{ ...passage, score: 0.5 }]]);
    const [{ path: asked, body, headers }] = server.seen as [(typeof server.seen)[0]];
    expect([asked, body]).toEqual([
      '/retrieve',
      { queries: ['mill'], topk: 2, return_scores: true },
    ]);
    expect(headers.authorization).toBe('Bearer secret-of-a-retriever');
    await retriever.close();
  });

  test('is queried in the form of ET-Agent at an address that ends in /search', async () => {
    const { retriever } = await world(answer([passage, { id: 8, contents: 'B' }]), {
      path: '/search',
    });
    const found = await retriever.retrieve(['one', 'two'], 1, signal);
    expect(found).toEqual([[{ ...passage, score: 0 }], [{ ...passage, score: 0 }]]);
    expect(server.seen.map(({ path, body }) => [path, body])).toEqual([
      ['/search', { query: 'one', top_n: 1 }],
      ['/search', { query: 'two', top_n: 1 }],
    ]);
    await retriever.close();
  });

  test('is queried again if it is busy, after the time it requests', async () => {
    const busy = answer({ error: 'later' }, 429, { 'retry-after': '2' });
    const { clock, said, tool } = await world(inTurn(busy, answer('', 500), reset, good), {
      triesMax: 4,
    });
    expect(await tool.run('mill', signal)).toEqual({ output: 'A mill.', ok: true });
    expect(clock.sleeps).toEqual([2000, 500, 500]);
    expect(said).toEqual([]);
    await tool.close();
  });

  test.each([
    ['is away', answer({ detail: 'full' }, 503), /does not answer: HTTP 503: full/],
    ['wants a key', answer({ error: 'no token' }, 401), /refuses requests: HTTP 401: no token/],
    [
      'leads elsewhere',
      answer('', 307, { location: 'http://10.0.0.1/' }),
      /redirects are not followed/,
    ],
  ])('that %s is down, and nothing is learnt from it', async (_, behaviour, message) => {
    const { said, tool } = await world(behaviour);
    await expect(tool.run('mill', signal)).rejects.toMatchObject({
      code: 'TOOL_DOWN',
      message: expect.stringMatching(message),
    });
    expect(said).toEqual([expect.stringMatching(/returns no passages: HTTP/)]);
    await tool.close();
  });

  test.each([
    ['answers in another shape', answer({ results: [] }), 1],
    ['refuses the query', answer({ error: 'bad' }, 400), 1],
    ['fails on it', answer({ error: 'broken' }, 500), 3],
  ])('that %s gives a failed search', async (_, behaviour, requests) => {
    const { tool } = await world(behaviour);
    expect(await tool.run('mill', signal)).toEqual({
      output: 'Local search failed: mill',
      ok: false,
    });
    expect(server.seen).toHaveLength(requests);
    await tool.close();
  });

  test('that never answers is given up in time, and at once when the call is', async () => {
    const { clock, tool } = await world(hang, { triesMax: 1 });
    const late = tool.run('mill', signal);
    await clock.held();
    clock.ring();
    await expect(late).rejects.toThrow(/no answer within 120000 ms/);
    const call = new AbortController();
    const aborted = tool.run('mill', call.signal);
    call.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await tool.close();
  });
});
