import { afterEach, describe, expect, it } from '@jest/globals';
import { SessionAffinity } from '../../../model/remote/affinity.ts';
import {
  type PoolOptions,
  type PoolRequest,
  ServerPool,
} from '../../../model/remote/serverPool.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import {
  answer,
  type Behaviour,
  hang,
  inTurn,
  reset,
  type ScriptedServer,
  scriptedServer,
  stall,
} from '../../support/scriptedServer.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function server(behave: Behaviour): Promise<ScriptedServer> {
  const made = await scriptedServer(behave);
  open.push(made);
  return made;
}

function pool(servers: readonly { url: string }[], options: Partial<PoolOptions> = {}): ServerPool {
  const made = new ServerPool({
    urls: servers.map(({ url }) => url),
    clock: impatientClock(),
    ...options,
  });
  open.push(made);
  return made;
}

function request(session = 'q1'): PoolRequest<unknown> {
  return { path: '/v1/completions', body: { prompt: 'p' }, session, read: (body) => body };
}

const ok = answer({ said: 'yes' });
const down = answer({ error: { message: 'out of memory' } }, 500);

describe('the user', () => {
  it('is notified when one of several servers stops answering, and when it answers again', async () => {
    const first = await server(inTurn(...Array(8).fill(reset), ok));
    const other = await server(ok);
    const said: [string, unknown][] = [];
    const report: PoolOptions['report'] = (line, outage) => void said.push([line, outage]);
    const both = pool([first, other], { report });
    const session = ['q1', 'q2', 'q3', 'q4'].find(
      (one) => new SessionAffinity(2).order(one)[0] === 0,
    )!;
    for (let i = 0; i < 12; i++) {
      await both.askServer(0, '/v1/completions', {}, { triesMax: 1 });
      await both.ask(request(session));
    }
    expect(said.map(([line]) => line)).toEqual([
      expect.stringMatching(/does not answer \(.*\); the other servers take its requests until/),
      expect.stringMatching(/answers again, after \d+ s$/),
    ]);
    expect(said.map(([, outage]) => outage)).toMatchObject([
      { state: 'away', server: first.url },
      { state: 'back', server: first.url },
    ]);
  });
});

describe('a request to one server', () => {
  it('is tried again after a server error, waiting longer each time', async () => {
    const clock = impatientClock();
    const one = await server(inTurn(down, answer('', 503), reset, ok));
    expect(await pool([one], { clock }).ask(request())).toMatchObject({
      kind: 'answer',
      value: { said: 'yes' },
    });
    expect(one.seen).toHaveLength(4);
    const [first, second, third] = clock.sleeps as [number, number, number];
    for (const [wait, most] of [
      [first, 500],
      [second, 1000],
      [third, 2000],
    ] as const) {
      expect(wait).toBeGreaterThanOrEqual(most / 2);
      expect(wait).toBeLessThanOrEqual(most);
    }
  });

  it('is given up after four tries, and says why', async () => {
    const one = await server(down);
    const result = await pool([one]).ask(request());
    expect(result).toMatchObject({ kind: 'down', reason: `${one.url}: HTTP 500: out of memory` });
    expect(one.seen).toHaveLength(4);
  });

  it('waits as long as Retry-After says, in seconds or until a date', async () => {
    const clock = impatientClock();
    const until = new Date(clock.now() + 47_000).toUTCString();
    const one = await server(
      inTurn(
        answer('', 429, { 'retry-after': '7' }),
        answer('', 503, { 'retry-after': until }),
        ok,
      ),
    );
    await pool([one], { clock }).ask(request());
    expect(clock.sleeps).toEqual([7000, 40_000]);
  });

  it('leaves a server that requests a pause of minutes', async () => {
    const [busy, free] = [
      await server(answer('', 429, { 'retry-after': '3600' })),
      await server(ok),
    ];
    const result = await pool([busy, free]).ask(request());
    expect(result.kind).toBe('answer');
    expect(busy.seen).toHaveLength(1);
  });

  it.each([
    ['never answers', hang],
    ['begins an answer and never ends it', stall],
  ])('is tried again when the server %s', async (_, behaviour) => {
    const clock = impatientClock();
    const one = await server(inTurn(behaviour, ok));
    const asked = pool([one], { clock }).ask(request());
    await clock.held();
    while (one.seen.length === 0) await new Promise(setImmediate);
    await new Promise((resolve) => setTimeout(resolve, 20));
    clock.ring();
    expect((await asked).kind).toBe('answer');
    expect(one.seen).toHaveLength(2);
    expect(one.seen[0]!.gone.aborted).toBe(true);
  });

  it('is tried again after a reply that is not JSON or of another shape', async () => {
    const one = await server(inTurn(answer('<html>'), answer({ other: 1 }), ok));
    const read = (body: unknown) => {
      if (!(body as { said?: string }).said) throw new Error('nothing said');
      return 'read';
    };
    expect(await pool([one]).ask({ ...request(), read })).toMatchObject({
      kind: 'answer',
      value: 'read',
    });
    expect(one.seen).toHaveLength(3);
  });

  it('is not tried again when the server refuses it', async () => {
    const one = await server(answer({ message: 'context too long' }, 400));
    expect(await pool([one, await server(ok)]).ask(request())).toEqual({
      kind: 'refused',
      reason: 'HTTP 400: context too long',
    });
    expect(one.seen).toHaveLength(1);
  });

  it.each([401, 403, 404])('fails at once on status %d', async (status) => {
    const one = await server(answer({ error: { message: 'no such model' } }, status));
    await expect(pool([one]).ask(request())).rejects.toMatchObject({
      code: 'MODEL_ACCESS',
      message: expect.stringContaining('no such model'),
    });
    expect(one.seen).toHaveLength(1);
  });

  it('does not follow a redirect', async () => {
    const other = await server(ok);
    const one = await server(answer('', 302, { location: other.url }));
    expect((await pool([one]).ask(request())).kind).toBe('down');
    expect(other.seen).toHaveLength(0);
  });

  it('rejects with the signal’s reason and hangs up', async () => {
    const one = await server(hang);
    const caller = new AbortController();
    const asked = pool([one]).ask(request(), caller.signal);
    while (one.seen.length === 0) await new Promise(setImmediate);
    caller.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    while (one.active > 0) await new Promise(setImmediate);
  });

  it('rejects with the signal’s reason between two tries', async () => {
    const clock = impatientClock(() => true);
    const one = await server(down);
    const caller = new AbortController();
    const asked = pool([one], { clock }).ask(request(), caller.signal);
    while (one.active > 0 || one.seen.length === 0) await new Promise(setImmediate);
    caller.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    expect(one.seen).toHaveLength(1);
  });

  it('rejects when the signal aborts while it waits for a place, which then goes to the next', async () => {
    const held: (() => void)[] = [];
    const one = await server(async (_, response) => {
      await new Promise<void>((resolve) => held.push(resolve));
      await ok(_, response);
    });
    const narrow = pool([one], { concurrencyMax: 1 });
    const first = narrow.ask(request());
    const caller = new AbortController();
    const second = narrow.ask(request(), caller.signal);
    const third = narrow.ask(request());
    caller.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    for (let i = 0; i < 2; i++) {
      while (held.length === 0) await new Promise(setImmediate);
      held.pop()!();
      await (i === 0 ? first : third);
    }
    expect(one.seen).toHaveLength(2);
  });

  it('rejects with code MODEL_CLOSED when the pool is closed', async () => {
    const one = await server(hang);
    const made = pool([one]);
    const asked = made.ask(request());
    while (one.seen.length === 0) await new Promise(setImmediate);
    await made.close();
    await expect(asked).rejects.toMatchObject({ code: 'MODEL_CLOSED' });
    await expect(made.ask(request())).rejects.toMatchObject({ code: 'MODEL_CLOSED' });
  });
});

describe('a pool', () => {
  it('sends the requests of a session to one server, and new sessions round robin', async () => {
    const servers = [await server(ok), await server(ok), await server(ok)];
    const made = pool(servers);
    for (const session of ['a', 'b', 'c', 'a', 'a', 'b']) await made.ask(request(session));
    expect(servers.map(({ seen }) => seen.length)).toEqual([3, 2, 1]);
  });

  it('tries each other server once, and keeps the session at the one that answered', async () => {
    const servers = [await server(down), await server(reset), await server(ok)];
    const made = pool(servers);
    await made.ask(request('a'));
    await made.ask(request('a'));
    expect(servers.map(({ seen }) => seen.length)).toEqual([4, 1, 2]);
  });

  it('is down when none of its servers answers, and names each', async () => {
    const servers = [await server(down), await server(answer('nope', 502))];
    const result = await pool(servers).ask(request());
    expect(result).toMatchObject({
      kind: 'down',
      reason: `${servers[0]!.url}: HTTP 500: out of memory; ${servers[1]!.url}: HTTP 502: nope`,
    });
  });

  it('has a bounded number of requests in flight, and refuses more than may wait', async () => {
    let arrived = 0;
    let three = (): void => undefined;
    const threeArrived = new Promise<void>((resolve) => {
      three = resolve;
    });
    const one = await server(async (seen, response) => {
      arrived += 1;
      if (arrived === 3) three();
      await threeArrived;
      await ok(seen, response);
    });
    const made = pool([one], { concurrencyMax: 3, waitingMax: 9 });
    const asked = Array.from({ length: 12 }, (_, i) => made.ask(request(`q${i}`)));
    await expect(made.ask(request('one too many'))).rejects.toMatchObject({ code: 'MODEL_BUSY' });
    await Promise.all(asked);
    expect(one.activeMax).toBe(3);
  });

  it('spaces its requests when there is a limit to their rate', async () => {
    const clock = impatientClock();
    const one = await server(ok);
    const made = pool([one], { clock, requestsPerMinute: 120 });
    for (let i = 0; i < 3; i++) await made.ask(request());
    expect(clock.sleeps).toEqual([500, 500]);
  });

  it.each([
    ['no URL', []],
    ['another protocol', ['ftp://host']],
    ['no protocol', ['host:8000']],
    ['a password', ['http://me:secret@host']],
    ['a query', ['http://host/?key=secret']],
  ])('refuses %s, and repeats no secret', (_, urls) => {
    let said: unknown;
    try {
      new ServerPool({ urls, clock: impatientClock() });
    } catch (error) {
      said = error;
    }
    expect(said).toMatchObject({ code: 'USAGE' });
    expect(String(said)).not.toContain('secret');
  });

  it('takes base URLs with and without /v1', async () => {
    const one = await server(ok);
    const urls = [`${one.url}/v1`, `${one.url}/v1/`, `${one.url}/`, one.url].map((url) => ({
      url,
    }));
    await pool(urls).ask(request());
    expect(pool(urls).urls).toEqual([one.url, one.url, one.url, one.url]);
    expect(one.seen[0]!.path).toBe('/v1/completions');
  });
});

describe('the API key', () => {
  const NAME = 'MILLRACE_TEST_KEY';
  const KEY = 'sk-very-secret';
  afterEach(() => {
    delete process.env[NAME];
  });

  it('comes from the environment and goes into the header alone', async () => {
    process.env[NAME] = KEY;
    const one = await server(ok);
    await pool([one], { keyEnv: NAME }).ask(request());
    expect(one.seen[0]!.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(JSON.stringify(one.seen[0]!.body)).not.toContain(KEY);
  });

  it('is not shown when a server repeats it', async () => {
    process.env[NAME] = KEY;
    const told = { error: { message: `Incorrect API key provided: ${KEY}.` } };
    for (const status of [400, 401, 500]) {
      const one = await server(answer(told, status));
      const result = await pool([one], { keyEnv: NAME })
        .ask(request())
        .catch((error: unknown) => error);
      const said = JSON.stringify(result, Object.getOwnPropertyNames(result));
      expect(said).toContain('Incorrect API key provided');
      expect(said).not.toContain(KEY);
    }
  });

  it('is not shown in part when an answer is cut', async () => {
    process.env[NAME] = KEY;
    for (let before = 380; before <= 400; before++) {
      const one = await server(answer('x'.repeat(before) + KEY, 400));
      const result = await pool([one], { keyEnv: NAME }).ask(request());
      expect(JSON.stringify(result)).not.toContain('sk-v');
    }
  });

  it('is not in what a server answers', async () => {
    process.env[NAME] = KEY;
    const one = await server(answer({ text: `you sent Bearer ${KEY}` }));
    const asked = { ...request(), read: (body: unknown) => JSON.stringify(body) };
    const result = await pool([one], { keyEnv: NAME }).ask(asked);
    expect(result).toMatchObject({ value: '{"text":"you sent Bearer [secret]"}' });
  });

  it('is demanded if the environment lacks it', () => {
    expect(() => pool([{ url: 'http://127.0.0.1:9' }], { keyEnv: NAME })).toThrow(
      /MILLRACE_TEST_KEY/,
    );
  });
});
