/**
 * An object server in memory, as a process of its own: the reader of an archive blocks meanwhile. Usage:
 * objectServer.ts TOKEN (empty = any).
 *
 * Prints its port. `POST /busy/N`: the next N requests get 503; `POST /spoil`: every object is changed. What
 * it refuses it quotes.
 */
import { createServer } from 'node:http';

const [token = ''] = process.argv.slice(2);
const objects = new Map<string, Buffer>();
let busy = 0;

const server = createServer(async (request, response) => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const { method, url = '', headers } = request;
  const end = (status: number, body: string | Buffer = ''): void => {
    response.writeHead(status).end(body);
  };
  if (method === 'POST') {
    if (url.startsWith('/busy/')) busy = Number(url.slice('/busy/'.length));
    else for (const [name, bytes] of objects) objects.set(name, Buffer.from(bytes).reverse());
    return end(200);
  }
  if (busy > 0) {
    busy -= 1;
    return end(503, 'busy');
  }
  const given = headers.authorization ?? '';
  if (token !== '' && given !== `Bearer ${token}`)
    return end(403, `<Error><Message>not with ${given}</Message></Error>`);
  if (method === 'PUT') objects.set(url, Buffer.concat(parts));
  const found = objects.get(url);
  return found === undefined ? end(404) : end(200, method === 'PUT' ? '' : found);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' ? address?.port : '');
});
