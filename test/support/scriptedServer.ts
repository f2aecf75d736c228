/**
 * An HTTP server on a port of this machine that does to each request what the test says.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The parsed body; null when there was none. */
  readonly body: Record<string, unknown> | null;
  /** Aborted when the client goes away. */
  readonly gone: AbortSignal;
}

/** What is done to a request. */
export type Behaviour = (seen: Seen, response: ServerResponse) => void | Promise<void>;

export interface ScriptedServer {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** Requests that are being answered, now and at most. */
  readonly active: number;
  readonly activeMax: number;
  close(): Promise<void>;
}

export async function scriptedServer(behave: Behaviour): Promise<ScriptedServer> {
  const seen: Seen[] = [];
  let active = 0;
  let activeMax = 0;
  const server = createServer(async (request, response) => {
    const gone = new AbortController();
    activeMax = Math.max(activeMax, ++active);
    response.on('close', () => {
      active--;
      gone.abort();
    });
    const { method = '', url: path = '', headers } = request;
    const text = await textOf(request);
    const one = {
      method,
      path,
      headers,
      body: text === '' ? null : JSON.parse(text),
      gone: gone.signal,
    };
    seen.push(one);
    await behave(one, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    get active() {
      return active;
    },
    get activeMax() {
      return activeMax;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}

/** Answers with JSON, or with text as it is. */
export function answer(
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): Behaviour {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** Never answers. */
export const hang: Behaviour = () => undefined;

/** Begins an answer and never ends it. */
export const stall: Behaviour = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"choices": [');
};

/** Cuts the connection. */
export const reset: Behaviour = (_, response) => {
  response.socket?.resetAndDestroy();
};

/** One behaviour a request, in order; the last one for all further ones. */
export function inTurn(...behaviours: readonly Behaviour[]): Behaviour {
  let at = 0;
  return (seen, response) => behaviours[Math.min(at++, behaviours.length - 1)]!(seen, response);
}
