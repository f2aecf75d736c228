/**
 * A day of ticks, sent to the page as fast as it takes them: everything but the stream comes from the real
 * server, the stream is made here. Between portions it waits until the page shows the last of them, so that
 * nothing but what the page keeps can grow.
 */
import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Mill, Points, StreamEvents } from '../../page/wire/index.ts';

const TICKS_A_SECOND = 2;
const VALUES_A_TICK = 10;
/**
 * What is sent at once, in seconds of the run's time: two portions are fewer messages than a tab may be
 * behind.
 */
export const PORTION_S = 20;

export interface DayServer {
  readonly origin: string;
  /** Sends the next portion; this many records `rollouts` has in the last of it. */
  portion(): Promise<number>;
  close(): void;
}

export interface Day {
  /** The real server's address. */
  readonly behind: string;
  readonly run: string;
  readonly mill: Mill;
  readonly names: readonly string[];
  readonly firstStep: number;
}

export async function dayServer({ behind, run, mill, names, firstStep }: Day): Promise<DayServer> {
  let stream: ServerResponse | null = null;
  let second = 0;
  let step = firstStep;
  const server = createServer((from, to) => {
    if (from.url?.startsWith('/stream') !== true) {
      const { method, headers } = from;
      const asked = request(new URL(from.url ?? '/', behind), { method, headers }, (answer) => {
        to.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(to);
      });
      asked.on('error', () => to.destroy());
      return asked.end();
    }
    to.writeHead(200, { 'content-type': 'text/event-stream' });
    to.write('retry: 1000\n\n');
    stream = to;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tell = <K extends keyof StreamEvents>(event: K, data: StreamEvents[K]): void => {
    stream!.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const points = (): Points => {
    const first = step;
    step += VALUES_A_TICK;
    const values = Array.from({ length: VALUES_A_TICK }, (_, i) => {
      const at = first + i + 1;
      return [at, 1000 * at, 100 * at, Math.sin(at / 500)] as const;
    });
    return { run, series: Object.fromEntries(names.map((name) => [name, values])), merged: 0 };
  };
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async portion() {
      while (stream === null) await new Promise((resolve) => setTimeout(resolve, 50));
      for (let i = 0; i < PORTION_S; i++) {
        second++;
        for (let tick = 0; tick < TICKS_A_SECOND; tick++) tell('points', points());
        const ends = Object.fromEntries(
          mill.topics.map(({ name, records }) => [name, records + second]),
        );
        const topics = mill.topics.map((topic) => ({ ...topic, records: ends[topic.name]! }));
        tell('mill', { ...mill, atMs: mill.atMs + 1000 * second, step, version: step, topics });
        tell('head', { run, ends });
        if (stream.writableNeedDrain) await once(stream, 'drain');
      }
      return mill.topics.find(({ name }) => name === 'rollouts')!.records + second;
    },
    close() {
      stream?.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}
