/** Passes requests on to a port, and does something before the next one of a route. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export async function passing(port: number) {
  let armed: { readonly route: string; readonly act: () => unknown } | null = null;
  const server = createServer(async (from, to) => {
    if (armed !== null && from.url?.endsWith(`/${armed.route}`)) {
      const { act } = armed;
      armed = null;
      await act();
    }
    const { method = 'GET', url: path = '/', headers } = from;
    const on = request({ host: '127.0.0.1', port, path, method, headers }, (reply) => {
      to.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(to);
      reply.on('error', () => to.destroy());
    });
    on.on('error', () => to.destroy());
    from.pipe(on);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    before(route: string, act: () => unknown) {
      armed = { route, act };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
