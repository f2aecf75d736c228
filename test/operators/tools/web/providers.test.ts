/**
 * Each provider against a server that speaks the shape that it documents: what it is sent, how its reply is
 * read, what happens to keys, failures and waits.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { keepSecret } from '../../../../base/secrets.ts';
import { bing } from '../../../../operators/tools/web/providers/bing.ts';
import { brightData } from '../../../../operators/tools/web/providers/brightData.ts';
import type { SearchProvider } from '../../../../operators/tools/web/providers/provider.ts';
import { searxng } from '../../../../operators/tools/web/providers/searxng.ts';
import { serper } from '../../../../operators/tools/web/providers/serper.ts';
import { template } from '../../../../operators/tools/web/providers/template.ts';
import { type Searched, webSearch } from '../../../../operators/tools/web/webSearch.ts';
import { impatientClock } from '../../../support/impatientClock.ts';
import { type ScriptedServer, type Seen, scriptedServer } from '../../../support/scriptedServer.ts';

const KEY = 'key-of-a-provider-1234';
const signal = new AbortController().signal;

/** Replies by number; the last stays. */
let replies: readonly (readonly [number, unknown])[] = [];
let asked = 0;
let server: ScriptedServer;
beforeAll(async () => {
  keepSecret(KEY);
  server = await scriptedServer((_, response) => {
    const [status, body] = replies[Math.min(asked++, replies.length - 1)]!;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
});
afterAll(() => server.close());

const common = () => ({ url: server.url, region: 'us', language: '', top: 10 });
const made = {
  serper: () => serper(common()),
  bing: () => bing({ ...common(), region: '' }),
  brightdata: () => brightData({ ...common(), zone: 'serp_api1', decorated: false }),
  searxng: () => searxng(common()),
  json: () =>
    template({
      ...common(),
      url: `${server.url}/find?q={query}&n={top}&lang={language}`,
      headers: ['Authorization: Token {key}'],
      body: '',
      results: 'data.hits',
      fields: { title: 'doc.name', url: 'doc.href', snippet: 'doc.text' },
    }),
} satisfies Record<string, () => SearchProvider>;
type Name = keyof typeof made;

/** The documented shape, with one result of these texts. */
const shapes: Readonly<Record<Name, (title: string, snippet: string) => unknown>> = {
  serper: (title, snippet) => ({
    searchParameters: { q: 'q', type: 'search', engine: 'google' },
    organic: [{ title, link: 'https://a.example/1', snippet, date: 'Jan 2, 2024', position: 1 }],
    credits: 1,
  }),
  bing: (name, snippet) => ({
    _type: 'SearchResponse',
    queryContext: { originalQuery: 'q' },
    webPages: {
      totalEstimatedMatches: 1,
      value: [
        {
          ...{ id: 'https://api.bing.microsoft.com/api/v7/#WebPages.0', name, snippet },
          ...{ url: 'https://a.example/1', displayUrl: 'https://a.example › 1', siteName: 'A' },
          datePublished: '2024-01-02T03:04:05.0000000Z',
        },
      ],
    },
  }),
  brightdata: (title, description) => ({
    general: { search_engine: 'bing', query: 'q' },
    organic: [
      { link: 'https://a.example/1', display_link: 'a.example', title, description, rank: 1 },
    ],
  }),
  searxng: (title, content) => ({
    query: 'q',
    number_of_results: 0,
    results: [
      {
        ...{ url: 'https://a.example/1', title, content, engine: 'wikipedia', score: 1 },
        publishedDate: '2024-01-02T00:00:00',
      },
    ],
    answers: [],
    unresponsive_engines: [],
  }),
  json: (name, text) => ({
    data: { hits: [{ doc: { name, href: 'https://a.example/1', text } }] },
  }),
};

interface Searching {
  readonly keys?: readonly string[];
  readonly sleeps?: number[];
  readonly query?: string;
}

async function search(name: Name, options: Searching = {}): Promise<Searched> {
  const { keys = [KEY], query = 'who built the "mill"?' } = options;
  asked = 0;
  const clock = impatientClock((ms) => ms >= 60_000);
  const web = webSearch({ provider: made[name](), keys, clock, keyName: '$ITS_KEY' });
  try {
    return await web.search(query, signal);
  } finally {
    options.sleeps?.push(...clock.sleeps);
    web.close();
  }
}

const last = (): Seen => server.seen.at(-1)!;

describe.each(Object.keys(made) as Name[])('%s', (name) => {
  test('reads its results', async () => {
    replies = [[200, shapes[name]('A title', ' A snippet. ')]];
    expect(await search(name)).toMatchObject({
      kind: 'found',
      results: [{ title: 'A title', url: 'https://a.example/1', snippet: ' A snippet. ' }],
    });
  });

  test('drops invisible text, and bounds the rest', async () => {
    const hidden = 'a\u202eb\u200bc\u{e0041}d\u0000\ud800e\nf';
    replies = [[200, shapes[name](hidden, `${hidden}${'x'.repeat(100_000)}`)]];
    const { results } = (await search(name)) as Extract<Searched, { kind: 'found' }>;
    expect(results[0]!.title).toBe('abcd\ufffde f');
    expect(results[0]!.snippet.slice(0, 9)).toBe('abcd\ufffde\nfx');
    expect(results[0]!.snippet.length).toBeLessThan(20_001);
  });

  test('tries again with the waits of the papers, and then fails', async () => {
    const sleeps: number[] = [];
    replies = [
      [500, 'a'],
      [429, '{"error":"slow down"}'],
      [200, shapes[name]('t', 's')],
    ];
    expect((await search(name, { sleeps })).kind).toBe('found');
    expect(sleeps).toEqual([5000, 5000]);
    replies = [[503, { message: `down, ${KEY} or not` }]];
    expect(await search(name)).toEqual({
      kind: 'failed',
      reason: 'HTTP 503: down, [secret] or not',
    });
    expect(asked).toBe(3);
  });

  test.each(['<html>', '{}', '[]', '{"organic":1,"results":"x"}', 'null', '"x"', '{"a":{"b":1}}'])(
    'does not take %s for an answer',
    async (body) => {
      replies = [[200, body]];
      expect((await search(name)).kind).toBe('failed');
    },
  );

  test('does not repeat a refused key in its error', async () => {
    replies = [[401, { message: `bad key ${KEY}` }]];
    const error = await search(name).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'TOOL_DOWN' });
    expect(String(error)).toMatch(/HTTP 401.*\$ITS_KEY/);
    expect(String(error)).not.toContain(KEY);
    expect(asked).toBe(1);
  });

  test('tries the next key if one is refused', async () => {
    replies = [
      [403, '{}'],
      [200, shapes[name]('t', 's')],
    ];
    expect((await search(name, { keys: ['first-key-0000', 'second-key-0000'] })).kind).toBe(
      'found',
    );
    expect(JSON.stringify(last())).toContain('second-key-0000');
  });
});

test('each search provider gets its own form of request', async () => {
  replies = [[200, {}]];
  await search('serper');
  expect(last()).toMatchObject({
    ...{ method: 'POST', headers: { 'x-api-key': KEY } },
    body: { q: 'who built the "mill"?', num: 10, hl: 'en-us', gl: 'us' },
  });
  await search('bing');
  expect(last()).toMatchObject({
    ...{ method: 'GET', headers: { 'ocp-apim-subscription-key': KEY } },
    path: '/?q=who+built+the+%22mill%22%3F&count=10&mkt=en-US&setLang=en',
  });
  await search('brightdata', { query: '谁建了"磨坊"' });
  const searched = 'https://www.bing.com/search?q=%E8%B0%81%E5%BB%BA%E4%BA%86%E7%A3%A8%E5%9D%8A';
  expect(last()).toMatchObject({
    headers: { authorization: `Bearer ${KEY}` },
    body: {
      ...{ zone: 'serp_api1', format: 'raw' },
      url: `${searched}&mkt=zh-CN&setLang=zh&brd_json=1&cc=us`,
    },
  });
  await search('searxng');
  expect(last().path).toBe('/search?q=who+built+the+%22mill%22%3F&format=json&language=en-US');
  await search('json', { query: 'a&b "c"' });
  expect(last()).toMatchObject({
    ...{ method: 'GET', path: '/find?q=a%26b%20%22c%22&n=10&lang=en-US' },
    headers: { authorization: `Token ${KEY}` },
  });
});

test('a search template posts its body, whatever the query', async () => {
  replies = [[200, { results: [] }]];
  const provider = template({
    ...common(),
    headers: [],
    body: '{"find":"{query}","limit":{top}}',
    results: 'results',
    fields: { title: 't', url: 'u', snippet: 's' },
  });
  const web = webSearch({
    provider,
    keys: [],
    clock: impatientClock((ms) => ms >= 60_000),
  });
  await web.search('a "quoted"\n{key} \\ text', signal);
  web.close();
  expect(last().body).toEqual({ find: 'a "quoted"\n{key} \\ text', limit: 10 });
});

test('Serper alone is asked again when it finds nothing', async () => {
  replies = [[200, { searchParameters: {}, organic: [] }]];
  expect(await search('serper')).toEqual({ kind: 'found', results: [] });
  expect(asked).toBe(3);
  replies = [[200, { general: {}, organic: [] }]];
  expect(await search('brightdata')).toEqual({ kind: 'found', results: [] });
  expect(asked).toBe(1);
});

test('a SearXNG whose engines all fail has not found nothing', async () => {
  replies = [[200, { results: [], unresponsive_engines: [['google', 'access denied']] }]];
  expect(await search('searxng')).toEqual({
    kind: 'failed',
    reason: 'its engines do not answer: [["google","access denied"]]',
  });
});

/** A SearXNG of your own; any engine will do. */
const live = process.env.MILLRACE_SEARXNG ?? '';
(live === '' ? test.skip : test)('a real SearXNG', async () => {
  const provider = searxng({ ...common(), url: live });
  const clock = impatientClock((ms) => ms >= 60_000);
  const web = webSearch({ provider, keys: [], clock });
  const searched = await web.search('mill', signal);
  expect(searched).toMatchObject({
    kind: 'found',
    results: expect.arrayContaining([
      expect.objectContaining({ url: expect.stringMatching(/^http/) }),
    ]),
  });
  web.close();
});

test('a search provider that does not answer is down', async () => {
  const provider = searxng({ ...common(), url: 'http://127.0.0.1:9' });
  const clock = impatientClock((ms) => ms >= 60_000);
  const web = webSearch({ provider, keys: [], clock });
  await expect(web.search('q', signal)).rejects.toMatchObject({ code: 'TOOL_DOWN' });
  expect(clock.sleeps).toEqual([5000, 5000]);
  web.close();
});

test('the user is notified when searches begin to fail, and when they work again', async () => {
  const lines: string[] = [];
  const clock = impatientClock((ms) => ms >= 60_000);
  const report = (line: string): void => void lines.push(line);
  const web = webSearch({ provider: made.bing(), keys: [], clock, triesMax: 1, report });
  asked = 0;
  replies = [
    [500, 'x'],
    [500, 'y'],
    [200, shapes.bing('t', 's')],
    [200, shapes.bing('t', 's')],
  ];
  for (let i = 0; i < 4; i++) await web.search('q', signal);
  web.close();
  expect(lines).toEqual([
    'search: Bing returns no results: HTTP 500: x',
    'search: Bing returns results again',
  ]);
});

test('requests to a search provider keep to the rate limit', async () => {
  replies = [[200, { general: {}, organic: [] }]];
  const clock = impatientClock((ms) => ms >= 60_000);
  const web = webSearch({ provider: made.brightdata(), keys: [], clock, requestsPerSecond: 4 });
  for (let i = 0; i < 3; i++) await web.search('q', signal);
  web.close();
  expect(clock.sleeps).toEqual([250, 250]);
});
