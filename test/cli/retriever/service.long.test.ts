/**
 * `millrace retriever serve`: its service by real HTTP, and the command as a process that the papers' client
 * asks.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import {
  type RetrieverService,
  type ServiceOptions,
  serveRetriever,
} from '../../../cli/retriever/service.ts';
import { type Command, millrace } from '../../support/commandLine.ts';
import { gatedRetriever } from '../../support/gatedRetriever.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { promtool } from '../../support/prometheus.ts';
import { until } from '../../support/until.ts';

const TOKEN = 'a-token-of-the-retriever-service';
let service: RetrieverService | null = null;
let retriever = gatedRetriever();
const failures: unknown[] = [];

async function serve(over: Partial<ServiceOptions> = {}, open = true): Promise<string> {
  retriever = gatedRetriever();
  service = await serveRetriever({
    ...{ host: '127.0.0.1', port: 0, token: '', top: 2, timeoutMs: 120_000 },
    ...{ batchMax: 8, batchesMax: 1, waitingMax: 2, clock: impatientClock() },
    failed: (error) => failures.push(error),
    ...over,
  });
  if (open) service.opened(retriever);
  return service.url;
}

afterEach(async () => {
  retriever.release();
  await service?.end();
  service = null;
  failures.length = 0;
});

interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

async function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const reply = await fetch(url, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
  return { status: reply.status, body: await reply.json(), headers: reply.headers };
}

async function get(url: string): Promise<{ status: number; text: string }> {
  const reply = await fetch(url);
  return { status: reply.status, text: await reply.text() };
}

const race = { id: 'a', contents: 'A mill race carries water to the wheel.', title: 'Mill race' };
const weir = { id: 'b', contents: 'A weir raises the water of a river.' };

describe('the routes of the retriever', () => {
  test('answer like the servers of the papers’ scripts', async () => {
    const url = await serve();
    const asked = async (route: string, body: unknown) => (await post(`${url}${route}`, body)).body;
    expect(await asked('/retrieve', { queries: ['water', 'race'], topk: 1 })).toEqual({
      result: [[race], [race]],
    });
    expect(
      await asked('/retrieve', { queries: ['the water river'], topk: 2, return_scores: true }),
    ).toEqual({
      result: [
        [
          { document: weir, score: 3 },
          { document: race, score: 2 },
        ],
      ],
    });
    expect(await asked('/retrieve', { query: 'race', topk: null })).toEqual({ result: [[race]] });
    expect(await asked('/retrieve', { queries: [] })).toEqual({ result: [] });
    expect(await asked('/search', { query: 'water', top_n: 2 })).toEqual([race, weir]);
    expect(await asked('/search', { query: 'water', top_n: 1, return_score: true })).toEqual([
      [race],
      [1],
    ]);
    expect(await asked('/batch_search', { query: ['race', 'x'], top_n: 1 })).toEqual([[race], []]);
    expect(await asked('/batch_search', { queries: ['race'], return_score: true })).toEqual([
      [[race]],
      [[1]],
    ]);
  });

  test.each([
    ['/retrieve', {}, 'queries', /is missing/],
    ['/search', {}, 'query', /is missing/],
    ['/search', { query: ' ' }, 'query', /Query content cannot be empty/],
    ['/search', { queries: ['a'] }, 'queries', /must be one text/],
    ['/batch_search', { query: 'a' }, 'query', /must be a list of texts/],
    ['/retrieve', { queries: ['a', 7] }, 'queries[1]', /must be a text/],
    ['/retrieve', { queries: Array(513).fill('a') }, 'queries', /513 queries; send at most 512/],
    ['/retrieve', { query: 'a', queries: ['a'] }, 'query', /combined with queries/],
    ['/retrieve', { query: 'a', topk: 1.5 }, 'topk', /whole number from 1 to 1000/],
    ['/search', { query: 'a', top_n: '3' }, 'top_n', /whole number/],
    ['/retrieve', { query: 'a', return_scores: 'yes' }, 'return_scores', /true or false/],
    ['/retrieve', { query: 'a', topK: 3 }, 'topK', /no field topK; the fields are queries/],
    ['/retrieve', [1], undefined, /must be a JSON object/],
    ['/retrieve', '{"query"', undefined, /is not valid JSON/],
  ])('include %s, which says which field of %j is wrong', async (route, body, field, message) => {
    const url = await serve();
    const reply = await post(`${url}${route}`, body);
    expect([reply.status, (reply.body as { field?: string }).field]).toEqual([400, field]);
    expect((reply.body as { error: string }).error).toMatch(message);
    expect(retriever.calls).toEqual([]);
  });

  test('refuse a body that is too large, another path and another method', async () => {
    const url = await serve();
    expect((await post(`${url}/retrieve`, { query: 'a'.repeat(5_000_000) })).status).toBe(413);
    expect((await post(`${url}/other`, {})).status).toBe(404);
    const got = await fetch(`${url}/retrieve`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    expect(
      (await post(`${url}/retrieve`, { query: 'a' }, { origin: 'http://evil.example' })).status,
    ).toBe(403);
  });

  test('cut an overlong query', async () => {
    const url = await serve();
    await post(`${url}/retrieve`, { query: 'a'.repeat(9000) });
    expect(retriever.calls[0]!.queries[0]).toHaveLength(2000);
  });
});

describe('the retriever', () => {
  test('answers 429 with a time to retry when its queue is full', async () => {
    const url = await serve();
    retriever.hold();
    const first = post(`${url}/retrieve`, { query: 'race' });
    await retriever.begun(1);
    const waiting = post(`${url}/retrieve`, { queries: ['weir', 'program'] });
    for (;;) {
      const { text } = await get(`${url}/metrics`);
      if (/^millrace_retriever_waiting_queries 2$/m.test(text)) break;
    }
    const refused = await post(`${url}/retrieve`, { query: 'river' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    retriever.release();
    expect([(await first).status, (await waiting).status]).toEqual([200, 200]);
  });

  test('answers 504 to a request that takes too long, and drops it', async () => {
    const clock = impatientClock();
    const url = await serve({ clock });
    retriever.hold();
    const late = post(`${url}/retrieve`, { query: 'race' });
    await retriever.begun(1);
    clock.ring();
    expect(await late).toMatchObject({
      status: 504,
      body: { error: 'no answer within 120000 ms' },
    });
    expect(retriever.active).toBe(0);
  });

  test('drops the request of a client that goes away', async () => {
    const url = await serve();
    retriever.hold();
    const call = new AbortController();
    const gone = fetch(`${url}/search`, {
      method: 'POST',
      body: '{"query": "race"}',
      signal: call.signal,
    });
    await retriever.begun(1);
    call.abort();
    await expect(gone).rejects.toThrow();
    while (retriever.active > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(failures).toEqual([]);
  });

  test('answers 500 to an unforeseen error, reports it, and goes on', async () => {
    const url = await serve();
    retriever.failWith(new Error('inner words'));
    const reply = await post(`${url}/retrieve`, { query: 'race' });
    expect(reply).toMatchObject({
      status: 500,
      body: { error: expect.not.stringContaining('inner') },
    });
    expect(failures).toHaveLength(1);
    expect((await post(`${url}/retrieve`, { query: 'race' })).status).toBe(200);
  });
});

describe('access to the retriever', () => {
  test('is granted to anyone who has the token, if there is one', async () => {
    const url = await serve({ token: TOKEN });
    expect((await post(`${url}/retrieve`, { query: 'race' })).status).toBe(401);
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await post(`${url}/retrieve`, { query: 'race' }, headers)).status).toBe(200);
    expect((await get(`${url}/healthz`)).status).toBe(200);
  });

  test('is refused from other machines unless a token or --no-token is given', async () => {
    await expect(serve({ host: '0.0.0.0' })).rejects.toThrow(
      /MILLRACE_RETRIEVER_TOKEN.*--no-token/,
    );
    const url = await serve({ host: '0.0.0.0', token: null });
    const reply = await post(`${url.replace('0.0.0.0', '127.0.0.1')}/retrieve`, { query: 'race' });
    expect(reply.status).toBe(200);
  });

  test('is refused to a page that reaches this machine under another name', async () => {
    const url = await serve();
    const { port } = new URL(url);
    const head = 'POST /retrieve HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 2\r\n\r\n{}';
    const said = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(head));
      socket.once('data', (data) => {
        resolve(String(data));
        socket.destroy();
      });
    });
    expect(said).toMatch(/^HTTP\/1\.1 403/);
  });
});

describe('the life of the retriever', () => {
  test('begins at once, and is ready when the index is open', async () => {
    const url = await serve({}, false);
    expect((await get(`${url}/healthz`)).status).toBe(200);
    expect(await get(`${url}/readyz`)).toMatchObject({
      status: 503,
      text: expect.stringContaining('opening'),
    });
    const early = await post(`${url}/retrieve`, { query: 'race' });
    expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1']);
    service!.opened(retriever);
    expect(JSON.parse((await get(`${url}/readyz`)).text)).toMatchObject({
      status: 'ready',
      passages: 3,
    });
    expect(JSON.parse((await get(`${url}/health`)).text)).toMatchObject({
      ...{ status: 'healthy', retrievers: { total: 1, available: 1 } },
    });
  });

  test('ends when every accepted request is answered, and the index is closed', async () => {
    const url = await serve();
    retriever.hold();
    const taken = post(`${url}/retrieve`, { query: 'race' });
    await retriever.begun(1);
    const ended = service!.end();
    service = null;
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    expect(retriever.closed).toBe(false);
    retriever.release();
    expect(await taken).toMatchObject({ status: 200, body: { result: [[race]] } });
    await ended;
    expect(retriever.closed).toBe(true);
  });

  test('does not begin on a port that is taken, which is an error of the command line', async () => {
    const url = await serve();
    const port = Number(new URL(url).port);
    const again = serveRetriever({
      ...{ host: '127.0.0.1', port, token: '', top: 2, timeoutMs: 1, batchMax: 1, batchesMax: 1 },
      ...{ waitingMax: 1, clock: sleepClock(systemClock), failed: () => undefined },
    });
    await expect(again).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('--port'),
    });
  });
});

test('the retriever has metrics for Prometheus', async () => {
  const url = await serve();
  await post(`${url}/retrieve`, { queries: ['race', 'weir', 'race'] });
  await post(`${url}/search`, { query: 'race' });
  await post(`${url}/search`, {});
  const { text } = await get(`${url}/metrics`);
  for (const line of [
    'millrace_retriever_requests_total{route="/retrieve",status="200"} 1',
    'millrace_retriever_requests_total{route="/search",status="200"} 1',
    'millrace_retriever_requests_total{route="/search",status="400"} 1',
    'millrace_retriever_queries_total 4',
    'millrace_retriever_kept_queries_total 1',
    'millrace_retriever_batch_queries_sum 2',
    'millrace_retriever_ready 1',
    'millrace_retriever_passages 3',
    'millrace_retriever_waiting_queries 0',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
  expect(text).toMatch(/^process_cpu_seconds_total \d/m);
  if (promtool(['--version']).ok)
    expect(promtool(['check', 'metrics'], text)).toMatchObject({ ok: true });
});

describe('the retriever command', () => {
  let folder: string;
  let command: Command;
  let url: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'retriever-'));
    const corpus = join(folder, 'wiki.jsonl');
    const rows = [race, { id: 9, contents: '"Weir"\nA weir raises a river.' }];
    await writeFile(corpus, rows.map((row) => JSON.stringify(row)).join('\n'));
    command = millrace('retriever', 'serve', corpus, '--port', '0');
    await until(() => {
      if (command.process.exitCode !== null) throw new Error(command.said);
      return /passages at/.test(command.said);
    });
    url = /2 passages at (\S+)\/retrieve/.exec(command.said)![1]!;
  });
  afterAll(async () => {
    command.process.kill('SIGKILL');
    await rm(folder, { recursive: true });
  });

  test('answers Python clients as the papers write them, and ends at SIGTERM', async () => {
    const client = `
import json, sys, urllib.request
def post(route, body):
    request = urllib.request.Request(sys.argv[1] + route, json.dumps(body).encode(), {'Content-Type': 'application/json'})
    return json.load(urllib.request.urlopen(request, timeout=30))
print(json.dumps([
    post('/retrieve', {'queries': ['mill race', 'weir'], 'topk': 1, 'return_scores': True}),
    post('/search', {'query': 'weir', 'top_n': 5}),
    post('/batch_search', {'query': ['weir'], 'top_n': 5, 'return_score': True}),
]))`;
    const asked = spawnSync('python3', ['-c', client, url], { encoding: 'utf8', timeout: 50_000 });
    expect(asked.stderr).toBe('');
    const found = { id: '9', contents: '"Weir"\nA weir raises a river.' };
    expect(JSON.parse(asked.stdout)).toEqual([
      {
        result: [
          [{ document: race, score: expect.any(Number) }],
          [{ document: found, score: expect.any(Number) }],
        ],
      },
      [found],
      [[[found]], [[expect.any(Number)]]],
    ]);
    command.process.kill('SIGTERM');
    expect(await command.code).toBe(0);
  });

  test.each([
    [['nothing.jsonl'], 2, /nothing\.jsonl does not exist: give the folder of an index/],
    [['.', '--host', '0.0.0.0'], 2, /MILLRACE_RETRIEVER_TOKEN/],
    [['.', '--dense-weight', '2'], 2, /number from 0 to 1/],
    [['.'], 1, /RETRIEVER.*is not a finished index/],
  ])('explains what is wrong with %j', async (args, code, message) => {
    const ended = await millrace('retriever', 'serve', '--port', '0', ...args).ended;
    expect(ended.code).toBe(code);
    expect(ended.err).toMatch(message);
  });
});
