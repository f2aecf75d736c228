/**
 * Where the page's server listens: 127.0.0.1 and ::1 on one port, the next free one if no port was requested.
 */
import type { RequestListener } from 'node:http';
import { listenOn } from '../../../base/http/index.ts';
import { MillraceError, messageOf } from '../../../base/index.ts';

export const PORT = 7788;
const PORTS_TRIED = 20;
const CONNECTIONS_MAX = 64;
const WAIT_MS = 10_000;
const LOOPBACK = ['127.0.0.1', '::1'];

export interface ListenOptions {
  /** Undefined = the usual port, or the next free one; 0 = any. */
  readonly port: number | undefined;
  /** Undefined = the loopback addresses. */
  readonly host: string | undefined;
}

export interface Listening {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Fails with code `USAGE` if it cannot listen there; never takes a port that is in use. */
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
      const other = taken ? '; another program is using it, so choose another --port' : '';
      throw new MillraceError(
        'USAGE',
        `cannot listen on port ${wanted}: ${messageOf(error)}${other}`,
      );
    }
  }
}

async function onPort(
  wanted: number,
  hosts: readonly string[],
  answer: RequestListener,
): Promise<Listening> {
  const servers: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> =>
    void (await Promise.all(servers.map((server) => server.close())));
  let port = wanted;
  try {
    for (const [i, host] of hosts.entries()) {
      const on = { host, port, connectionsMax: CONNECTIONS_MAX, waitMs: WAIT_MS };
      const server = await listenOn(on, answer).catch((error: unknown) => {
        // A machine without IPv6 does without it; a port that is taken belongs to another program.
        if (i === 0 || (error as NodeJS.ErrnoException).code === 'EADDRINUSE') throw error;
        return null;
      });
      if (server === null) continue;
      servers.push(server);
      port = server.port;
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { host: hosts[0]!, port, close };
}
