import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Listening } from '../../../base/http/index.ts';
import { type SleepClock, sleepClock, systemClock } from '../../../base/index.ts';
import { GatewayRefusal } from '../../../gateway/conversation.ts';
import { type GatewayServerOptions, gatewayServer } from '../../../gateway/server/server.ts';
import { ScriptedSessions, said } from '../../support/scriptedSessions.ts';
import { until } from '../../support/until.ts';
import { eventsIn } from '../protocols/support.ts';

const CALL = { id: 'call_1', name: 'f', arguments: '{"a":1}' };
const SCRIPT = [said('look', 'hm', CALL), said('done')];
const CHAT = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const BODIES = {
  'chat/completions': CHAT,
  responses: { model: 'm', input: 'hi' },
  messages: { ...CHAT, max_tokens: 9 },
};
const PATHS = Object.keys(BODIES) as (keyof typeof BODIES)[];

let server: Listening | undefined;
const failures: unknown[] = [];

async function serving(
  sessions: ScriptedSessions,
  options: Partial<GatewayServerOptions> = {},
): Promise<string> {
  const clock = sleepClock(systemClock);
  const failed = (error: unknown) => void failures.push(error);
  server = await gatewayServer({ sessions, clock, failed, ...options });
  return server.url;
}

afterEach(async () => {
  await server?.close();
  server = undefined;
  expect(failures.splice(0)).toEqual([]);
});

function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** What waits until it is opened. */
function gate(): { until: () => Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { until: () => opened, open: () => open() };
}

/** A clock whose sleeps last until they are rung. */
function heldClock(): SleepClock & { ring(): void; readonly sleeping: () => number } {
  const ringing = new Set<() => void>();
  return {
    now: () => 0,
    sleeping: () => ringing.size,
    ring() {
      for (const wake of [...ringing]) wake();
    },
    sleep(_, signal) {
      return new Promise((resolve, reject) => {
        const wake = (): void => {
          ringing.delete(wake);
          resolve();
        };
        ringing.add(wake);
        signal?.addEventListener('abort', () => {
          ringing.delete(wake);
          reject(signal.reason);
        });
      });
    },
  };
}

describe('a session', () => {
  test.each([
    ['/s/k-1/v1/chat/completions', {}],
    ['/s/k-1/v1/chat/completions', { authorization: 'Bearer EMPTY' }],
    ['/s/k-1/v1/chat/completions', { authorization: 'Bearer k-1', 'x-api-key': 'k-1' }],
    ['/v1/chat/completions', { authorization: 'Bearer k-1' }],
    ['/v1/chat/completions', { 'x-api-key': 'k-1' }],
  ])('is found by %s with %j', async (path, headers) => {
    const sessions = new ScriptedSessions();
    const session = sessions.open('k-1', SCRIPT);
    const reply = await post((await serving(sessions)) + path, CHAT, headers);
    expect(reply.status).toBe(200);
    expect(session.calls).toHaveLength(1);
  });

  test.each<[string, Record<string, string>, string]>([
    ['/v1/chat/completions', {}, 'no key'],
    ['/v1/chat/completions', { authorization: 'Basic k-1' }, 'no key'],
    ['/v1/chat/completions', { authorization: 'Bearer other' }, 'no session has this key'],
    ['/s/other/v1/chat/completions', { authorization: 'Bearer k-1' }, 'no session has this key'],
    ['/s/k-1/v1/chat/completions', { authorization: 'Bearer k-2' }, 'two keys'],
    ['/s/k-1/v1/chat/completions', { 'x-api-key': 'k-2' }, 'two keys'],
    ['/v1/chat/completions', { authorization: 'Bearer k-1', 'x-api-key': 'k-2' }, 'two keys'],
  ])('is refused at %s with %j', async (path, headers, words) => {
    const sessions = new ScriptedSessions();
    const opened = [sessions.open('k-1', SCRIPT), sessions.open('k-2', SCRIPT)];
    const reply = await post((await serving(sessions)) + path, CHAT, headers);
    expect(reply.status).toBe(404);
    expect(reply.headers.get('x-should-retry')).toBe('false');
    expect(await reply.text()).toContain(words);
    expect(opened.flatMap(({ digests }) => digests)).toEqual([]);
  });
});

describe.each(PATHS)('a call of %s', (path) => {
  test('has its answer, and the digest of what came', async () => {
    const sessions = new ScriptedSessions();
    const session = sessions.open('k', SCRIPT);
    const url = `${await serving(sessions)}/s/k/v1/${path}`;
    const body = JSON.stringify(BODIES[path]);
    const texts = [];
    for (let i = 0; i < 2; i += 1) texts.push(await (await post(url, body)).text());
    expect(texts[0]).toBe(texts[1]);
    expect(session.calls).toHaveLength(1);
    const digest = createHash('sha256').update(`${path}\n${body}`).digest('hex');
    expect(session.digests).toEqual([digest, digest]);
  });

  test('has its answer as a stream at once where it is there', async () => {
    const sessions = new ScriptedSessions();
    sessions.open('k', SCRIPT);
    const url = `${await serving(sessions)}/s/k/v1/${path}`;
    const reply = await post(url, { ...BODIES[path], stream: true });
    expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const text = await reply.text();
    expect(text).not.toMatch(/keep-alive|ping/);
    expect(eventsIn(text).events.length).toBeGreaterThan(3);
  });

  test('hears keep-alives in a stream until the answer is there', async () => {
    const sessions = new ScriptedSessions();
    const { until: before, open: answer } = gate();
    sessions.open('k', SCRIPT, { before });
    const clock = heldClock();
    const url = `${await serving(sessions, { clock })}/s/k/v1/${path}`;
    const asked = post(url, { ...BODIES[path], stream: true });
    await until(() => clock.sleeping() === 1);
    clock.ring();
    const reply = await asked;
    expect(reply.status).toBe(200);
    for (let i = 0; i < 3; i += 1) {
      await until(() => clock.sleeping() === 1);
      clock.ring();
    }
    await until(() => clock.sleeping() === 1);
    answer();
    const text = await reply.text();
    expect(text.match(/: keep-alive|event: ping/g)).toHaveLength(4);
    expect(eventsIn(text).events.length).toBeGreaterThan(3);
    expect(clock.sleeping()).toBe(0);
  });

  test.each([false, true])(
    'is refused with a status where that is known (stream %s)',
    async (stream) => {
      const sessions = new ScriptedSessions();
      const session = sessions.open('k', SCRIPT);
      sessions.end('k');
      const url = `${await serving(sessions)}/s/k/v1/${path}`;
      const reply = await post(url, { ...BODIES[path], stream });
      expect(reply.status).toBe(404);
      expect(reply.headers.get('x-should-retry')).toBe('false');
      expect(await reply.json()).toMatchObject({ error: { message: 'the session has ended' } });
      expect(session.calls).toEqual([]);
    },
  );

  test('is refused in the stream that has begun', async () => {
    const sessions = new ScriptedSessions();
    let refuse = (): void => undefined;
    const before = () =>
      new Promise<void>((_, reject) => {
        refuse = () => reject(new GatewayRefusal('limit', 'enough'));
      });
    sessions.open('k', SCRIPT, { before });
    const clock = heldClock();
    const url = `${await serving(sessions, { clock })}/s/k/v1/${path}`;
    const asked = post(url, { ...BODIES[path], stream: true });
    await until(() => clock.sleeping() === 1);
    clock.ring();
    const reply = await asked;
    refuse();
    expect(await reply.text()).toMatch(/data: \{.*"message":"enough"/);
  });

  test('that breaks on our side says no more than that', async () => {
    const sessions = new ScriptedSessions();
    const broken = new Error('a secret of ours');
    sessions.open('k', SCRIPT, { before: () => Promise.reject(broken) });
    const reply = await post(`${await serving(sessions)}/s/k/v1/${path}`, BODIES[path]);
    expect(reply.status).toBe(500);
    expect(await reply.text()).not.toContain('secret');
    expect(failures.splice(0)).toEqual([broken]);
  });

  test.each([
    ['{"model":', 'the body is not JSON'],
    ['[]', 'the body is a list; it must be an object'],
    ['', 'the body is not JSON'],
    ['['.repeat(200_000), 'the body is not JSON'],
  ])('that is %.9j is refused', async (body, words) => {
    const sessions = new ScriptedSessions();
    sessions.open('k', SCRIPT);
    const reply = await post(`${await serving(sessions)}/s/k/v1/${path}`, body);
    expect(reply.status).toBe(400);
    expect(((await reply.json()) as { error: { message: string } }).error.message).toContain(words);
  });

  test('of too many bytes is read to its end and refused, and the connection of others stays', async () => {
    const sessions = new ScriptedSessions();
    const session = sessions.open('k', SCRIPT);
    const url = `${await serving(sessions, { bytesMax: 100_000 })}/s/k/v1/${path}`;
    const body = { ...BODIES[path], metadata: 'x'.repeat(600_000) };
    const reply = await post(url, body);
    expect(reply.status).toBe(413);
    expect(await reply.json()).toMatchObject({
      error: { message: expect.stringContaining('larger than 100000 bytes') },
    });
    expect(session.digests).toEqual([]);
    expect((await post(url, BODIES[path])).status).toBe(200);
  });

  test('whose client goes away is aborted', async () => {
    const sessions = new ScriptedSessions();
    const before = (_: number, signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const session = sessions.open('k', SCRIPT, { before });
    const url = `${await serving(sessions)}/s/k/v1/${path}`;
    for (const stream of [false, true]) {
      const gone = new AbortController();
      const asked = post(url, { ...BODIES[path], stream }, {}, gone.signal);
      const ended = expect(asked).rejects.toThrow('aborted');
      await until(() => session.signals.length === (stream ? 2 : 1));
      gone.abort(new Error('aborted'));
      await ended;
      await until(() => session.signals.every(({ aborted }) => aborted));
    }
  });
});

describe('the server', () => {
  test('counts tokens, takes rewards, lists models and is well', async () => {
    const sessions = new ScriptedSessions();
    const session = sessions.open('k', SCRIPT);
    const url = await serving(sessions);
    const count = await post(`${url}/s/k/v1/messages/count_tokens`, { ...CHAT, system: 'abc' });
    expect(await count.json()).toEqual({ input_tokens: 5 });
    const key = { authorization: 'Bearer k' };
    const reward = await post(`${url}/v1/reward`, { value: 0.5, reason: 'half' }, key);
    expect([reward.status, session.rewards]).toEqual([200, [{ value: 0.5, reason: 'half' }]]);
    const models = await (await fetch(`${url}/s/k/v1/models`)).json();
    expect(models).toMatchObject({
      object: 'list',
      data: [{ id: 'policy', object: 'model', type: 'model' }],
    });
    expect(await (await fetch(`${url}/v1/models/any%2Fname`)).json()).toMatchObject({
      id: 'any/name',
    });
    for (const path of ['/s/k', '/healthz', '/v1/models']) {
      const head = await fetch(url + path, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
    }
  });

  test.each([
    [{}, 'value is missing'],
    [{ value: '1' }, 'value is text'],
    [{ value: 1, reason: 2 }, 'reason is a number'],
    [{ value: 1, reason: 'x'.repeat(3000) }, 'reason is longer'],
  ])('refuses the reward %.40j', async (body, words) => {
    const sessions = new ScriptedSessions();
    const session = sessions.open('k', SCRIPT);
    const reply = await post(`${await serving(sessions)}/s/k/v1/reward`, body);
    expect(reply.status).toBe(400);
    expect(await reply.text()).toContain(words);
    expect(session.rewards).toEqual([]);
  });

  test.each<[string, string, Record<string, string>, number]>([
    ['GET', '/v1/chat/completions', {}, 405],
    ['POST', '/v1/models', {}, 405],
    ['POST', '/v1/embeddings', {}, 404],
    ['GET', '/healthz', { origin: 'http://evil.example' }, 403],
    ['POST', '/s/k/v1/chat/completions', { 'content-encoding': 'gzip' }, 400],
  ])('answers %s %s with %j by %i', async (method, path, headers, status) => {
    const sessions = new ScriptedSessions();
    sessions.open('k', SCRIPT);
    const reply = await fetch((await serving(sessions)) + path, { method, headers });
    expect(reply.status).toBe(status);
    expect(await reply.json()).toMatchObject({ error: { message: expect.any(String) } });
  });

  test('refuses in the form of the client’s protocol where the path names none', async () => {
    const reply = await fetch(`${await serving(new ScriptedSessions())}/v1/files`, {
      headers: { 'anthropic-version': '2023-06-01' },
    });
    expect(await reply.json()).toMatchObject({
      type: 'error',
      error: { message: expect.any(String) },
    });
  });

  test('refuses another host name, as a page of a hostile name server would send', async () => {
    const url = await serving(new ScriptedSessions());
    const asked = request(`${url}/healthz`, { headers: { host: 'evil.example' } }).end();
    const [reply] = await once(asked, 'response');
    expect(reply.statusCode).toBe(403);
    reply.resume();
  });

  test('refuses more requests than may be open, and answers the others', async () => {
    const sessions = new ScriptedSessions();
    const { until: opened, open: answer } = gate();
    const before = (n: number) => (n > 0 ? undefined : opened());
    const session = sessions.open('k', SCRIPT, { before });
    const url = `${await serving(sessions, { openMax: 1 })}/s/k/v1/chat/completions`;
    const first = post(url, CHAT);
    await until(() => session.digests.length === 1);
    const second = await post(url, CHAT);
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '5']);
    answer();
    expect((await first).status).toBe(200);
    expect((await post(url, CHAT)).status).toBe(200);
  });

  test('refuses bodies that would be too much together', async () => {
    const sessions = new ScriptedSessions();
    const { until: before, open: answer } = gate();
    const session = sessions.open('k', SCRIPT, { before });
    const heldMax = 1.5 * JSON.stringify(CHAT).length;
    const url = `${await serving(sessions, { heldMax })}/s/k/v1/chat/completions`;
    const first = post(url, CHAT);
    await until(() => session.digests.length === 1);
    expect((await post(url, CHAT)).status).toBe(429);
    answer();
    expect((await first).status).toBe(200);
    expect((await post(url, CHAT)).status).toBe(200);
  });

  test('drops a body without end', async () => {
    const sessions = new ScriptedSessions();
    sessions.open('k', SCRIPT);
    const url = new URL(await serving(sessions, { bytesMax: 1_000 }));
    const socket = connect(Number(url.port), url.hostname);
    socket.on('error', () => undefined);
    const heard: Buffer[] = [];
    socket.on('data', (part) => heard.push(part));
    socket.write(
      'POST /s/k/v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n',
    );
    const piece = `400\r\n${'x'.repeat(1024)}\r\n`;
    const timer = setInterval(() => socket.write(piece.repeat(4)), 1);
    await until(() => socket.destroyed || socket.readableEnded);
    clearInterval(timer);
    expect(Buffer.concat(heard).toString()).toContain('request_too_large');
  });
});
