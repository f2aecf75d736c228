/**
 * POST /questions: what is answered 200 is in the log; everything else may be sent again and is asked once.
 */
import { request } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import {
  type QuestionServerOptions,
  questionServer,
} from '../../../sources/endless/questionServer.ts';
import { Taking } from './taking.ts';

let taking: Taking | null = null;
afterEach(async () => {
  await taking?.stop();
  taking = null;
});

/** A server that is open; `post` sends to it. */
async function serving(over: Partial<QuestionServerOptions> = {}) {
  let listening = (_url: string): void => undefined;
  const url = new Promise<string>((resolve) => {
    listening = resolve;
  });
  const options = { host: '127.0.0.1', port: 0, token: '', clock: sleepClock(systemClock) };
  taking = new Taking(() => questionServer({ ...options, listening, ...over }));
  const first = taking.take(1);
  first.catch(() => undefined); // where nothing gets in
  const at = await url;
  const post = async (body: unknown, headers: Record<string, string> = {}, method = 'POST') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const reply = await fetch(at, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(method === 'GET' ? {} : { body: text }),
    });
    const retry = reply.headers.get('retry-after');
    return { status: reply.status, retry, body: (await reply.json()) as Record<string, unknown> };
  };
  return { post, first, taking, url: at };
}

const question = (id: string) => ({ id, question: `${id}?`, answer: '1' });

describe('POST /questions', () => {
  test('answers once the question is in the log', async () => {
    const { post, first } = await serving();
    const sent = post(question('a'));
    expect(await first).toEqual(['a']);
    expect(await sent).toMatchObject({
      status: 200,
      body: { accepted: [{ id: 'a' }], refused: [] },
    });
  });

  test('answers JSON that is nested too deeply with 400, whatever its form', async () => {
    const { post, first } = await serving();
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const lines = { 'content-type': 'application/x-ndjson' };
    for (const [body, headers] of [
      [deep, {}],
      [`[${deep}]`, {}],
      [`{"id":"a","question":${deep},"answer":"1"}`, {}],
      [`{"id":"a","question":"q","answers":${deep}}`, lines],
    ] as const) {
      const { status } = await post(body, headers);
      expect([400, 422]).toContain(status);
    }
    const sent = post(question('a'));
    expect(await first).toEqual(['a']);
    expect((await sent).status).toBe(200);
  });

  test('takes lists and JSON Lines, and names the wrong field of each refused one', async () => {
    const { post, first, taking } = await serving();
    const list = post([question('a'), { id: 'b', question: 'b?' }, 7]);
    await first;
    expect((await list).body).toEqual({
      accepted: [{ id: 'a' }],
      refused: [
        { index: 1, field: 'answers', reason: 'is missing' },
        { index: 2, field: '', reason: 'a question must be a JSON object' },
      ],
    });
    const lines = `${JSON.stringify(question('c'))}\nno json\n`;
    const sent = post(lines, { 'content-type': 'application/x-ndjson' });
    expect(await taking.take(1)).toEqual(['c']);
    expect(await sent).toMatchObject({ status: 200, body: { refused: [{ index: 1 }] } });
    expect(await post({})).toMatchObject({ status: 422, body: { accepted: [] } });
  });

  test('gives a question without an id that of its request, so that a repeated request is recognised', async () => {
    const { post, first, taking } = await serving();
    const send = (text: string) =>
      post({ question: text, answer: '1' }, { 'idempotency-key': '"k1"' });
    const one = send('what?');
    const other = send('what now?');
    expect([...(await first), ...(await taking.take(1))]).toEqual(['posted-k1-0', 'posted-k1-0']);
    expect((await one).status + (await other).status).toBe(400);
  });

  test('answers 429 with Retry-After when its queue is full, and holds no more than that', async () => {
    const { post, first, taking } = await serving({ waitingMax: 2 });
    const a = post(question('a'));
    await first;
    expect((await a).status).toBe(200);
    const sent = ['b', 'c', 'd', 'e', 'f'].map((id) => post(question(id)));
    const full: unknown[] = [];
    const done: unknown[] = [];
    await new Promise<void>((resolve) => {
      for (const one of sent) {
        void one.then(({ status, retry }) => {
          (status === 429 ? full : done).push(retry);
          if (full.length === 3) resolve();
        });
      }
    });
    expect(full).toEqual(['1', '1', '1']);
    expect(done).toEqual([]);
    await taking.take(2);
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 200, 429, 429, 429]);
    expect((await post([question('1'), question('2'), question('3')])).status).toBe(413);
  });

  test('answers each of far more senders than its queue holds', async () => {
    const { post, first, taking } = await serving({ waitingMax: 2 });
    const one = post(question('a'));
    await first;
    expect((await one).status).toBe(200);
    let full = 0;
    let refused = (): void => undefined;
    const allRefused = new Promise<void>((resolve) => {
      refused = resolve;
    });
    const sent = Array.from({ length: 600 }, async (_, i) => {
      const { status } = await post(question(`q${i}`));
      if (status === 429) full += 1;
      if (full === 598) refused();
      return status;
    });
    await allRefused;
    await taking.take(2);
    expect((await Promise.all(sent)).filter((status) => status === 200)).toHaveLength(2);
  });

  test('answers 503 when the run does not take a question in time, which is then not asked', async () => {
    const { post, first, taking } = await serving({ patienceMs: 20 });
    const a = post(question('a'));
    await first;
    await a;
    expect(await post(question('b'))).toMatchObject({ status: 503, retry: '5' });
    const c = taking.take(1);
    await post(question('c'));
    expect(await c).toEqual(['c']);
  });

  test('answers waiting requests when the run stops', async () => {
    const { post, first, taking } = await serving();
    const a = post(question('a'));
    await first;
    await a;
    const b = post(question('b')).then(
      ({ status }) => status,
      () => 503, // the connection may be gone first
    );
    await new Promise((resolve) => setImmediate(resolve));
    await taking.stop();
    expect(await b).toBe(503);
  });

  test('refuses what is too large, of another type, not JSON, at another path or by another method', async () => {
    const { post, url } = await serving({ bytesMax: 100 });
    expect((await post(question('x'.repeat(200)))).status).toBe(413);
    expect((await post('a=1', { 'content-type': 'text/plain' })).status).toBe(415);
    const packed = await post(question('a'), { 'content-encoding': 'gzip' });
    expect(packed.status).toBe(415);
    expect(packed.body.error).toContain('without content-encoding gzip');
    expect((await post('{')).status).toBe(400);
    expect((await post('', {}, 'GET')).status).toBe(405);
    expect((await fetch(url.replace('questions', 'other'), { method: 'POST' })).status).toBe(404);
  });

  test('refuses web pages and other host names', async () => {
    const { post, url } = await serving();
    expect((await post(question('a'), { origin: 'http://evil.example' })).status).toBe(403);
    const status = await new Promise((resolve, reject) => {
      const headers = { host: 'evil.example', 'content-type': 'application/json' };
      const asked = request(url, { method: 'POST', headers }, (reply) => {
        reply.resume();
        resolve(reply.statusCode);
      });
      asked.on('error', reject);
      asked.end(JSON.stringify(question('a')));
    });
    expect(status).toBe(403);
  });

  test('demands the token, and does not listen on other addresses without one', async () => {
    const { post, first } = await serving({ token: 'secret-token' });
    expect((await post(question('a'))).status).toBe(401);
    expect((await post(question('a'), { authorization: 'Bearer wrong' })).status).toBe(401);
    const sent = post(question('a'), { authorization: 'Bearer secret-token' });
    await first;
    expect((await sent).status).toBe(200);
    const clock = sleepClock(systemClock);
    expect(() => questionServer({ host: '0.0.0.0', port: 1, token: '', clock })).toThrow(
      'MILLRACE_QUESTIONS_TOKEN',
    );
  });
});
