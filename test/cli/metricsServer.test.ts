import { request } from 'node:http';
import { expect, test } from '@jest/globals';
import { serveMetrics } from '../../cli/metrics/server.ts';

test('metrics are refused to a page in a browser, and to another name of this machine', async () => {
  const said = { ok: true, why: 'running' };
  const answers = { metrics: async () => 'up 1\n', health: () => said, ready: () => said };
  const server = await serveMetrics({ host: '127.0.0.1', port: 0 }, answers);
  const status = (headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const asking = request(server.url, { headers }, (reply) => {
        reply.resume();
        resolve(reply.statusCode ?? 0);
      });
      asking.on('error', reject).end();
    });
  expect(await status({})).toBe(200);
  expect(await status({ host: 'localhost:9464' })).toBe(200);
  expect(await status({ host: 'evil.example' })).toBe(403);
  expect(await status({ origin: 'https://evil.example' })).toBe(403);
  await server.close();
});
