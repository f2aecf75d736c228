/**
 * `search` on the web: the papers' result texts, what is kept, and the deep search that reads pages and has
 * them summed up.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { askOnce } from '../../../../operators/tools/cache/askOnce.ts';
import { openToolCache, type ToolCache } from '../../../../operators/tools/cache/toolCache.ts';
import type { ReadPage } from '../../../../operators/tools/pages/pageReader.ts';
import type { SearchProvider } from '../../../../operators/tools/web/providers/provider.ts';
import { pagesText, recordsText } from '../../../../operators/tools/web/resultText.ts';
import { snippetContext } from '../../../../operators/tools/web/snippetContext.ts';
import { finalInformation, summariser } from '../../../../operators/tools/web/summarise.ts';
import type { WebResult } from '../../../../operators/tools/web/webResult.ts';
import type { Searched, WebSearch } from '../../../../operators/tools/web/webSearch.ts';
import { webSearchTool } from '../../../../operators/tools/web/webSearchTool.ts';
import { manualClock } from '../../../../testing/manualClock.ts';

const signal = new AbortController().signal;
let folder: string;
let files = 0;
const open: ToolCache[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'search-'));
});
afterAll(async () => {
  await Promise.all(open.map((cache) => cache.close()));
  await rm(folder, { recursive: true });
});

function newCache(): ToolCache {
  const cache = openToolCache({ path: join(folder, `${files++}.mdb`), clock: manualClock() });
  open.push(cache);
  return cache;
}

const result = (snippet: string, over: Partial<WebResult> = {}): WebResult => ({
  ...{ title: 'T', url: 'https://a.example/', siteName: 'a', date: '2024-01-02', snippet },
  ...over,
});

const provider: SearchProvider = {
  ...{ name: 'Bing', scope: 's', emptyTriesMax: 1 },
  request: () => ({ url: '', headers: {} }),
  read: () => [],
};

interface FakeWeb extends WebSearch {
  readonly queries: readonly string[];
}

function fakeWeb(answer: Searched): FakeWeb {
  const queries: string[] = [];
  return {
    ...{ provider, queries, close: () => undefined },
    async search(query) {
      queries.push(query);
      return answer;
    },
  };
}

const found = (...results: readonly WebResult[]): Searched => ({ kind: 'found', results });

describe('the plain text of a web search', () => {
  const options = { top: 3, charactersMax: 5 };
  test('numbers the snippets, each once and cut', () => {
    const results = [' abcdefg ', '', 'abcdefg', '  ', 'b', '😀😀😀😀😀😀', 'left out'].map(
      (text) => result(text),
    );
    expect(pagesText(results, options)).toBe('Page 1: abcde\nPage 2: b\nPage 3: 😀😀😀😀😀');
  });

  test('says that nothing was found', () => {
    expect(pagesText([], options)).toBe('No search results found.');
    expect(pagesText([result(' ')], options)).toBe('No search results found.');
  });
});

test('the records of a deep search are cut to length', () => {
  const record = { ...result('snip'), context: 'around «snip»' };
  const text = recordsText([record, record], 10_000);
  expect(text.split('\n').slice(0, 4)).toEqual([
    '**Web Page 1:**',
    '{',
    '  "id": 1,',
    '  "title": "T",',
  ]);
  expect(Object.keys(JSON.parse(text.split('**Web Page 2:**')[1]!))).toEqual([
    ...['id', 'title', 'url', 'site_name', 'date', 'snippet', 'context'],
  ]);
  expect(text).toContain('around «snip»');
  expect(recordsText([record], 20)).toBe(`${text.slice(0, 20)}...`);
});

describe('the context of a snippet', () => {
  const sentence = 'The old mill of Arden was built in 1742 by two brothers.';
  const filler = 'Nothing of that kind is said here at all. ';
  const page = `${filler.repeat(300)}${sentence} ${filler.repeat(300)}`;

  test('is the most similar sentence, with a number of characters on both sides', () => {
    const context = snippetContext(page, 'the <b>old mill</b> of Arden, built 1742 ...', 100);
    expect(context).toContain(sentence);
    expect(context.length).toBe(sentence.length + 200);
    expect(context.indexOf(sentence)).toBe(100);
  });

  test('is the beginning of the page if no sentence is similar', () => {
    expect(snippetContext(page, 'zebras', 100)).toBe(page.slice(0, 200));
    expect(snippetContext('', 'zebras', 100)).toBe('');
  });

  test('is searched only in the beginning of a long page', () => {
    const far = filler.repeat(2000) + sentence;
    expect(snippetContext(far, sentence, 100)).toBe(far.slice(0, 200));
  });
});

test('a summariser’s reply is read up to its final information', () => {
  expect(finalInformation('a **Final Information** b **Final Information**\n```\nc\nd\n``` ')).toBe(
    'cd',
  );
  expect(finalInformation('a\n**Modified Reasoning Steps**\nb\nc\n')).toBe('b\nc');
  expect(finalInformation(' all of it\n')).toBe('all of it');
});

describe('a web search', () => {
  test('sends the words of the policy once, and caches the result for the next run', async () => {
    const cache = newCache();
    const web = fakeWeb(found(result('one'), result('two')));
    const tool = () => webSearchTool({ web, once: askOnce(cache), cache });
    const said = { output: 'Page 1: one\nPage 2: two', ok: true };
    expect(await tool().run(' Who was "X"? ', signal)).toEqual({ ...said, cached: false });
    expect(await tool().run('who was x', signal)).toEqual({ ...said, cached: true });
    expect(web.queries).toEqual(['Who was "X"?']);
  });

  test('reports a failure as the papers do, and tries again next time', async () => {
    const cache = newCache();
    const web = fakeWeb({ kind: 'failed', reason: 'HTTP 500' });
    const tool = webSearchTool({ web, once: askOnce(cache), cache });
    const failed = { output: 'Bing search failed: q', ok: false };
    expect([await tool.run('q', signal), await tool.run('q', signal)]).toEqual([failed, failed]);
    expect(web.queries).toEqual(['q', 'q']);
    expect(await tool.run(' \n', signal)).toEqual({ output: 'invalid query', ok: false });
  });

  test('answers from imported results first, and only from them without a provider', async () => {
    const cache = newCache();
    await cache.put({ kind: 'result', scope: '', key: 'search query: Abc?' }, 'Page 1: kept');
    const tool = webSearchTool({ web: null, once: askOnce(cache), cache });
    expect(await tool.run('Search query abc', signal)).toMatchObject({
      output: 'Page 1: kept',
      ok: true,
    });
    expect((await tool.run('other', signal)).output).toBe('No search results found.');
  });
});

describe('a deep search', () => {
  const url = (n: number) => `https://a.example/${n}`;
  const results = [1, 2, 3].map((n) => result(`snippet ${n} of the mill`, { url: url(n) }));
  const page = (text: string, format: 'html' | 'pdf' = 'html') =>
    ({ kind: 'read', title: '', text, format }) as const;
  const read: ReadPage = async (at) => {
    if (at === url(1)) return page('First. This is snippet 1 of the mill, they say. Last.');
    if (at === url(2)) return { kind: 'failed', reason: 'gone' };
    return page(`${'word '.repeat(600)}${'late '.repeat(9)}`, 'pdf');
  };

  test('shows the context of the snippets', async () => {
    const web = fakeWeb(found(...results));
    const tool = webSearchTool({ web, once: askOnce(null), cache: null, read });
    const { output } = await tool.run('mill', signal);
    expect(output).toContain('"context": "First. This is snippet 1 of the mill, they say. Last."');
    expect(output).toContain('"context": "Web Page content cannot fetch"');
    expect(output).not.toContain('late');
  });

  test('has pages summarised once, with the reasoning so far', async () => {
    const cache = newCache();
    const once = askOnce(cache);
    const prompts: string[] = [];
    const summing = summariser({
      once,
      scope: 'model',
      async ask({ prompt, draws }) {
        prompts.push(prompt);
        expect(draws[0]).toBe('summary');
        return 'So.\n**Final Information**\nIt was built\nin 1742.';
      },
    });
    const web = fakeWeb(found(...results));
    const options = { web, once, cache, read, summariser: summing };
    const trajectory = () =>
      '<think>first</think><python>1</python><result>1</result>'.repeat(6) +
      '<think>a</think><search>mill</search>';
    const ask = () => webSearchTool(options).run('mill', signal, { trajectory });
    expect((await ask()).output).toBe('It was builtin 1742.');
    expect((await ask()).output).toBe('It was builtin 1742.');
    expect(prompts.length).toBe(1);
    expect(prompts[0]).toContain(
      'Step 1: <think>first</think><python>1</python>\n\n...\n\nStep 10:',
    );
    expect(prompts[0]).toContain('**Web Page 1:**');
  });

  test('shows the pages themselves if the model gives up', async () => {
    const summing = summariser({ once: askOnce(null), scope: '', ask: async () => null });
    const web = fakeWeb(found(...results));
    const tool = webSearchTool({
      web,
      once: askOnce(null),
      cache: null,
      read,
      summariser: summing,
    });
    expect((await tool.run('mill', signal)).output).toMatch(/^\*\*Web Page 1:\*\*/);
  });
});
