/**
 * A server that listens on one address and closes at once or gracefully.
 *
 * Guarantees: connections and the wait for a request are bounded; when all connections are taken, one that
 * has sent nothing makes room for a new one; no error after the start closes the server.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface ListenOn {
  /** A name or an address, IPv6 with or without brackets. */
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly connectionsMax: number;
  /** For the head of a request, and for all of it; Node's own limits if left out. */
  readonly waitMs?: number;
  /** How long a connection may be idle between two requests; Node's own limit if left out. */
  readonly idleMs?: number;
  /** Called with errors after the start. */
  readonly failed?: (error: Error) => void;
}

export interface Listening {
  readonly port: number;
  /** `http://address:port` */
  readonly url: string;
  /** Does not keep the process alive. */
  unref(): void;
  /** Accepts no more connections; resolves once the open ones have ended. */
  end(): Promise<void>;
  /** Ends every connection, including those being answered. */
  close(): Promise<void>;
}

/** How often idle connections are checked. */
const CHECK_MS = 1_000;

/** Beyond `connectionsMax`, closes the connection that has been idle longest, or else the new one. */
function bound(server: Server, connectionsMax: number): void {
  const silent = new Set<Socket>();
  let open = 0;
  server.on('connection', (socket) => {
    open += 1;
    if (open > connectionsMax) {
      const [oldest = socket] = silent;
      silent.delete(oldest);
      oldest.destroy();
    }
    if (!socket.destroyed) silent.add(socket);
    socket.once('close', () => {
      open -= 1;
      silent.delete(socket);
    });
  });
  server.on('request', ({ socket }, to) => {
    silent.delete(socket);
    to.once('close', () => {
      if (!socket.destroyed) silent.add(socket);
    });
  });
}

/** Rejects with the system's error if it cannot listen there. */
export async function listenOn(options: ListenOn, answer: RequestListener): Promise<Listening> {
  const { host, port, connectionsMax, waitMs, idleMs, failed = () => undefined } = options;
  const waits = waitMs === undefined ? {} : { headersTimeout: waitMs, requestTimeout: waitMs };
  const idle = idleMs === undefined ? {} : { keepAliveTimeout: idleMs };
  const server = createServer({ ...waits, ...idle, connectionsCheckingInterval: CHECK_MS }, answer);
  bound(server, connectionsMax);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host.replace(/^\[|\]$/g, ''), () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', failed);
  const { address, family, port: taken } = server.address() as AddressInfo;
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()));
  return {
    port: taken,
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    unref: () => void server.unref(),
    end() {
      server.close();
      return ended;
    },
    close() {
      server.close();
      server.closeAllConnections();
      return ended;
    },
  };
}
