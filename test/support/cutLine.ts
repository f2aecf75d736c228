/** The way to a server, which a test cuts and mends: TCP, byte for byte. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CutLine {
  readonly url: string;
  /** Connections so far. */
  readonly connections: number;
  /** Ends all connections, and each new one at once. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function cutLine(to: string): Promise<CutLine> {
  const { hostname, port } = new URL(to);
  const open = new Set<Socket>();
  let isCut = false;
  let connections = 0;
  const server = createServer((from) => {
    connections++;
    if (isCut) {
      from.destroy();
      return;
    }
    const behind = connect(Number(port), hostname);
    for (const [one, other] of [
      [from, behind],
      [behind, from],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const end = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    cut() {
      isCut = true;
      end();
    },
    mend() {
      isCut = false;
    },
    async close() {
      end();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
