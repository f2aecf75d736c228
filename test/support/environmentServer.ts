/**
 * A small server that speaks OpenEnv's wire, for tests that break it: a corridor in which `go` leads on and
 * `take` at its end is worth 1. The real server is in `openEnv.long.test.ts`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/** What goes on in one session. */
export interface Corridor {
  seed: number;
  length: number;
  place: number;
}

export interface EnvironmentServer {
  readonly url: string;
  /** All messages that came, in order. */
  readonly heard: readonly { readonly type: string; readonly data?: Record<string, unknown> }[];
  /** Sessions that are open, and the most that ever were. */
  readonly open: number;
  readonly openMost: number;
  /** Requests to open one. */
  readonly attempts: number;
  readonly requests: readonly IncomingMessage[];
  close(): Promise<void>;
}

export interface EnvironmentFakes {
  /** Sessions that the server has (default 100). */
  readonly sessionsMax?: number;
  /** Says this in place of what it would say; undefined = as usual, null = nothing. */
  readonly say?: (message: { readonly type: string }, world: Corridor, nth: number) => unknown;
  /** What `/schema` says of actions. */
  readonly action?: object;
  readonly tools?: readonly object[];
  readonly seen?: (world: Corridor) => object;
}

const plainAction = {
  title: 'CorridorAction',
  description: 'Walks in a corridor: go, take.',
  type: 'object',
  properties: {
    metadata: { type: 'object', title: 'Metadata' },
    command: { type: 'string', title: 'Command', description: 'go or take' },
  },
  required: ['command'],
  additionalProperties: false,
};

const seenPlainly = ({ place, length }: Corridor): object => ({
  text: place < length ? `You are at ${place} of ${length}.` : 'You see a coin.',
});

/** What a command does, and what it is worth. */
function walk(world: Corridor, command: unknown): { reward: number; done: boolean } {
  if (command === 'go') world.place += 1;
  const taken = command === 'take' && world.place >= world.length;
  return { reward: taken ? 1 : command === 'go' ? 0 : -0.25, done: taken };
}

export async function environmentServer(fakes: EnvironmentFakes = {}): Promise<EnvironmentServer> {
  const { sessionsMax = 100, say = () => undefined, seen = seenPlainly } = fakes;
  const { action = plainAction, tools = [] } = fakes;
  const heard: { type: string; data?: Record<string, unknown> }[] = [];
  const requests: IncomingMessage[] = [];
  const counts = { open: 0, openMost: 0, attempts: 0, nth: 0 };
  const json = (response: ServerResponse, value: unknown): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };
  const server = createServer((request, response) => {
    requests.push(request);
    if (request.url === '/schema') json(response, { action, observation: {}, state: {} });
    else if (request.url === '/mcp') json(response, { jsonrpc: '2.0', id: 1, result: { tools } });
    else response.writeHead(404).end();
  });
  const sockets = new WebSocketServer({ server, path: '/ws' });
  sockets.on('connection', (socket: WebSocket, request: IncomingMessage) => {
    requests.push(request);
    counts.attempts += 1;
    const reply = (type: string, data: object): void => socket.send(JSON.stringify({ type, data }));
    if (counts.open >= sessionsMax) {
      const full = { active_sessions: counts.open, max_sessions: sessionsMax };
      reply('error', { message: 'full', code: 'CAPACITY_REACHED', ...full });
      socket.close(1000);
      return;
    }
    counts.open += 1;
    counts.openMost = Math.max(counts.openMost, counts.open);
    socket.on('close', () => {
      counts.open -= 1;
    });
    const world: Corridor = { seed: 0, length: 2, place: 0 };
    socket.on('message', (bytes: Buffer) => {
      const message = JSON.parse(bytes.toString()) as (typeof heard)[number];
      heard.push(message);
      const { type, data = {} } = message;
      const odd = say({ type }, world, counts.nth++);
      if (odd === null) return;
      if (odd === 'hang up') return socket.terminate();
      if (odd !== undefined)
        return socket.send(typeof odd === 'string' ? odd : JSON.stringify(odd));
      if (type === 'reset') {
        world.seed = Number(data.seed ?? 0);
        Object.assign(world, { length: Number(data.length ?? 2), place: 0 });
        return reply('observation', { observation: seen(world), reward: null, done: false });
      }
      const { arguments: given, command = given as unknown } = data;
      if (typeof command !== 'string' && given === undefined) {
        const errors = [{ loc: ['command'], msg: 'Field required', type: 'missing' }];
        return reply('error', { message: 'Invalid message', code: 'VALIDATION_ERROR', errors });
      }
      const { reward, done } = walk(world, given === undefined ? command : data.tool_name);
      const observation =
        given === undefined
          ? seen(world)
          : {
              tool_name: data.tool_name,
              result: { content: [{ type: 'text', text: JSON.stringify(seen(world)) }] },
              error: null,
            };
      reply('observation', { observation, reward, done });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    ...{ heard, requests },
    get open() {
      return counts.open;
    },
    get openMost() {
      return counts.openMost;
    },
    get attempts() {
      return counts.attempts;
    },
    async close() {
      sockets.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
