/** Where the page's server listens: 127.0.0.1 and ::1 on one port, the next free one where nobody asked for a certain one. */
import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '../../base/errors.ts';
import { usageError } from '../failure.ts';

export const PORT = 7788;
const PORTS_TRIED = 20;
const CONNECTIONS_MAX = 64;
const WAIT_MS = 10_000;
const LOOPBACK = ['127.0.0.1', '::1'];

export interface ListenOptions {
  /** Undefined = the usual one, or the next that is free; 0 = any. */
  readonly port: number | undefined;
  /** Undefined = the loopback addresses. */
  readonly host: string | undefined;
}

export interface Listening {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Fails with code `USAGE` where nobody can listen there; never takes a port from whoever has it. */
export async function listen(
  { port, host }: ListenOptions,
  answer: RequestListener,
): Promise<Listening> {
  const first = port ?? PORT;
  const tries = port === undefined ? PORTS_TRIED : 1;
  for (let tried = 0; ; tried++) {
    const wanted = first + tried;
    try {
      return await onPort(wanted, host === undefined ? LOOPBACK : [host], answer);
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (taken && tried + 1 < tries) continue;
      const other = taken ? '; another program listens there, so give another --port' : '';
      throw usageError(`cannot listen on port ${wanted}: ${messageOf(error)}${other}`);
    }
  }
}

async function onPort(
  wanted: number,
  hosts: readonly string[],
  answer: RequestListener,
): Promise<Listening> {
  const servers: Server[] = [];
  let port = wanted;
  try {
    for (const [i, host] of hosts.entries()) {
      const server = await onAddress(host, port, answer).catch((error: unknown) => {
        // A machine without IPv6 does without; a port that another program has there is another program's.
        if (i === 0 || (error as NodeJS.ErrnoException).code === 'EADDRINUSE') throw error;
        return null;
      });
      if (server === null) continue;
      servers.push(server);
      port = (server.address() as AddressInfo).port;
    }
  } catch (error) {
    await Promise.all(servers.map(closed));
    throw error;
  }
  return {
    host: hosts[0]!,
    port,
    close: async () => void (await Promise.all(servers.map(closed))),
  };
}

async function onAddress(host: string, port: number, answer: RequestListener): Promise<Server> {
  const server = createServer({ headersTimeout: WAIT_MS, requestTimeout: WAIT_MS }, answer);
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  server.removeAllListeners('error');
  server.on('error', () => undefined);
  return server;
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
