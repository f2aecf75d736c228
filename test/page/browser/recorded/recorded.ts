/**
 * What the page's server answered of two real runs, once: the pictures of all views are taken of it, so that
 * they depend on the page alone. `record.ts` makes it.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { loadAssets } from '../../../../page/server/http/assets.ts';
import { routeAt } from '../../../../page/wire/index.ts';

export interface Recorded {
  readonly nowMs: number;
  readonly views: readonly { readonly name: string; readonly path: string }[];
  /** Bodies in base64, by path without its query. */
  readonly answers: Readonly<Record<string, string>>;
}

export const recordedFile = new URL('views.json.gz', import.meta.url);

export function readRecorded(): Recorded {
  return JSON.parse(gunzipSync(readFileSync(recordedFile)).toString()) as Recorded;
}

/** The page over the recorded answers, with a stream on which nothing comes. */
export async function serveRecorded({
  answers,
  nowMs,
}: Recorded): Promise<{ readonly origin: string; close(): void }> {
  const assets = loadAssets();
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://page');
    const body = answers[pathname];
    const asset = routeAt(pathname) === null ? assets.file(pathname) : assets.index;
    if (pathname === '/stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const hello = { wire: 1, nowMs, server: 'recorded', runs: [], missing: [] };
      response.write(`event: hello\ndata: ${JSON.stringify(hello)}\n\n`);
    } else if (body !== undefined) response.end(Buffer.from(body, 'base64'));
    else if (asset?.body !== undefined) {
      response.writeHead(200, { 'content-type': asset.type }).end(asset.body);
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
