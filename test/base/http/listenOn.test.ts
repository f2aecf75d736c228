import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { BodyReader } from '../../../base/http/bodyReader.ts';
import { type Listening, listenOn } from '../../../base/http/listenOn.ts';
import { Refusal, refuse } from '../../../base/http/refusal.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { until } from '../../support/until.ts';

const MOST = 4;
const clock = manualClock(1_000);
let server: Listening;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

async function serving(connectionsMax = 64): Promise<void> {
  const bodies = new BodyReader(MOST, clock);
  const busy = (): Refusal => new Refusal(429, 'busy');
  server = await listenOn({ host: '127.0.0.1', port: 0, connectionsMax }, async (from, to) => {
    try {
      to.end(from.method === 'POST' ? await bodies.read(from, 1_000, busy) : 'here');
    } catch (error) {
      if (error instanceof Refusal) refuse(from, to, error);
    }
  });
}

async function opened(text = ''): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return socket;
}

const half = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf';

describe('an HTTP server of this package', () => {
  test('still answers when half-open connections use up its limit', async () => {
    await serving(8);
    for (let i = 0; i < 20; i++) await opened(i % 2 === 0 ? '' : 'GET / HT');
    for (let i = 0; i < 3; i++) expect(await (await fetch(server.url)).text()).toBe('here');
  });

  test('still reads a body while other bodies have stalled halfway', async () => {
    await serving();
    const slow: Socket[] = [];
    for (let i = 0; i < MOST; i++) slow.push(await opened(half));
    const post = () => fetch(server.url, { method: 'POST', body: 'whole' });
    await until(async () => (await post()).status === 429);
    clock.advance(3_000);
    expect(await (await post()).text()).toBe('whole');
    await until(() => slow[0]!.destroyed);
    expect(slow.map(({ destroyed }) => destroyed)).toEqual([true, false, false, false]);
  });
});
