import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import type { Send } from '../../../base/http/arriving.ts';
import { Exchange, isRedirect, NoReply } from '../../../base/http/exchange.ts';
import { saidIn } from '../../../base/http/said.ts';
import { sendDirect } from '../../../base/http/sendDirect.ts';
import { sendFetch } from '../../../base/http/sendFetch.ts';
import { serverAddress } from '../../../base/http/serverAddress.ts';
import { sleepClock } from '../../../base/sleepClock.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function server(answer: (response: ServerResponse) => void): Promise<string> {
  const made = createServer((_, response) => answer(response));
  await new Promise<void>((ready) => made.listen(0, '127.0.0.1', ready));
  ends.push(() => {
    made.closeAllConnections();
    made.close();
  });
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`;
}

const never = new AbortController().signal;

async function failure(asked: Promise<unknown>): Promise<NoReply> {
  const error = await asked.catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(NoReply);
  return error as NoReply;
}

/** Both ways to send keep the same promises. */
const ways = [
  ['node-fetch', sendFetch],
  ['node:http', sendDirect],
] as const;

function exchangeBy(send: Send, options: { readonly timeoutMs?: number } = {}): Exchange {
  const clock = sleepClock(systemClock);
  const made = new Exchange({ clock, timeoutMs: 60_000, replyBytesMax: 1000, send, ...options });
  ends.push(() => made.close());
  return made;
}

describe.each(ways)('an exchange by %s', (_, send) => {
  const exchange = (options: { readonly timeoutMs?: number } = {}) => exchangeBy(send, options);

  test('gives back a redirect instead of following it', async () => {
    let reached = 0;
    const other = await server((response) => {
      reached++;
      response.end();
    });
    const url = await server((response) => response.writeHead(307, { location: other }).end());
    const reply = await exchange().ask({ url, headers: {} }, never);
    expect([isRedirect(reply), reply.header('location'), reached]).toEqual([true, other, 0]);
  });

  test.each([
    ['gzip', gzipSync('packed')],
    ['deflate', deflateSync('packed')],
    ['br', brotliCompressSync('packed')],
    ['identity', Buffer.from('packed')],
    // without its end
    ['gzip', gzipSync('packed').subarray(0, -8)],
  ])('unpacks what comes as %s', async (packing, bytes) => {
    const url = await server((response) =>
      response.writeHead(200, { 'content-encoding': packing }).end(bytes),
    );
    expect((await exchange().ask({ url, headers: {} }, never)).text()).toBe('packed');
  });

  test('takes nothing for an empty body, packed or not', async () => {
    const url = await server((response) =>
      response.writeHead(204, { 'content-encoding': 'gzip' }).end(),
    );
    const reply = await exchange().ask({ url, headers: {} }, never);
    expect([reply.status, reply.ok, reply.text()]).toEqual([204, true, '']);
  });

  test('sends no password that an address holds', async () => {
    const url = (await server((response) => response.end())).replace('//', '//me:secret@');
    const { message } = await failure(exchange().ask({ url, headers: {} }, never));
    expect(message).toBe('the address holds a password');
  });

  test('ends with its signal, before and within the reply', async () => {
    for (const answer of [
      () => undefined,
      (response: ServerResponse) => void response.writeHead(200).write('half'),
    ]) {
      const asked = new EventEmitter();
      const url = await server((response) => {
        answer(response);
        asked.emit('asked', response);
      });
      const heard = once(asked, 'asked');
      const over = new AbortController();
      const reply = exchange().ask({ url, headers: {} }, over.signal);
      const [response] = (await heard) as [ServerResponse];
      const gone = once(response, 'close');
      over.abort('over');
      await expect(reply).rejects.toBe('over');
      await gone;
    }
  });

  test('refuses a reply that never ends', async () => {
    let sent = 0;
    const url = await server((response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(10_000))) sent += 10_000;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    expect((await failure(exchange().ask({ url, headers: {} }, never))).message).toMatch(
      /over limit/,
    );
    // what lay in buffers of the system was sent, and no more
    expect(sent).toBeLessThan(50_000_000);
  });

  test('hands over a reply of any size as it comes, for as long as it comes', async () => {
    const url = await server((response) => {
      let left = 5;
      const more = (): void => {
        response.write('x'.repeat(1000));
        if (--left === 0) response.end();
        else setTimeout(more, 40);
      };
      more();
    });
    let taken = 0;
    const take = async (body: AsyncIterable<Uint8Array>) => {
      for await (const { length } of body) taken += length;
    };
    const reply = await exchange({ timeoutMs: 150 }).ask({ url, headers: {}, take }, never);
    expect([reply.ok, reply.bytes.length, taken]).toEqual([true, 0, 5000]);
  });

  test('tells who takes a reply that it has ended too soon', async () => {
    const url = await server((response) => {
      const { socket } = response;
      response.writeHead(200, { 'content-length': '100' }).write('half', () => socket!.destroy());
    });
    const take = async (body: AsyncIterable<Uint8Array>) => {
      for await (const _ of body);
    };
    expect((await failure(exchange().ask({ url, headers: {}, take }, never))).sent).toBe(true);
  });

  test('says whether a request may have arrived', async () => {
    const silent = await server(() => undefined);
    const late = await failure(
      exchange({ timeoutMs: 20 }).ask({ url: silent, headers: {} }, never),
    );
    expect([late.sent, late.message]).toEqual([true, 'no answer within 20 ms']);
    const nobody = await failure(exchange().ask({ url: 'http://127.0.0.1:9', headers: {} }, never));
    expect([nobody.sent, nobody.message]).toEqual([false, expect.stringContaining('ECONNREFUSED')]);
  });
});

describe.each(ways)('an answer, by %s', (_way, send) => {
  const exchange = () => exchangeBy(send);

  test.each<[string, boolean, (response: ServerResponse) => void]>([
    ['a reply that is too large', true, (response) => response.end('x'.repeat(2000))],
    [
      'a reply that is too large unpacked',
      true,
      (response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(2000))),
    ],
    [
      'a body that cannot be unpacked',
      true,
      (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'),
    ],
    [
      'headers without end',
      true,
      (response) => response.socket!.end(`HTTP/1.1 200 OK\r\na: ${'x'.repeat(100_000)}`),
    ],
    ['what is not HTTP', true, (response) => response.socket!.end('220 mail is here\r\n\r\n')],
    ['a connection that ends', false, (response) => response.socket!.destroy()],
    [
      'a reply that ends too soon',
      false,
      (response) => {
        const { socket } = response;
        response.writeHead(200, { 'content-length': '100' }).write('half', () => socket!.destroy());
      },
    ],
  ])('is recognised or missed: %s', async (_, answered, answer) => {
    const url = await server(answer);
    expect((await failure(exchange().ask({ url, headers: {} }, never))).answered).toBe(answered);
  });
});

test.each([
  ['{"error":{"message":"m"}}', 'm'],
  ['{"error":"m"}', 'm'],
  ['{"message":"m"}', 'm'],
  ['{"detail":[{"msg":"m"}]}', '[{"msg":"m"}]'],
  ['null', 'null'],
  ['<html>\u001b[2J', '<html>\\u001b[2J'],
])('an error quotes what a server says in %s', (reply, said) => {
  expect(saidIn(reply)).toBe(said);
});

test.each([
  'http://me:secret@host',
  'http://host/?key=secret',
  'http//me:secret@host',
  'host?key=secret',
  'kafka://secret@host',
])('the address %s is refused, and none of its secrets repeated', (given) => {
  const words = { what: 'a model server', suffix: '/v1' };
  expect(() => serverAddress(given, words)).toThrow(/an? (model server|environment)/);
  expect(() => serverAddress(given, words)).not.toThrow(/secret/);
});
