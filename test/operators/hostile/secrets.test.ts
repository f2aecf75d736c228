/**
 * Servers that say our own keys back, in every disguise and at every place where text is cut: nothing of a
 * key is in what a tool gives, in the cache that all runs share, or in an error.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { keepSecret } from '../../../base/secrets.ts';
import { askOnce } from '../../../operators/tools/cache/askOnce.ts';
import { openToolCache, type ToolCache } from '../../../operators/tools/cache/toolCache.ts';
import { toolbox } from '../../../operators/tools/callTool.ts';
import { mcpServer } from '../../../operators/tools/mcp/server.ts';
import { mcpTool } from '../../../operators/tools/mcp/tool.ts';
import { template } from '../../../operators/tools/web/providers/template.ts';
import { webSearch } from '../../../operators/tools/web/webSearch.ts';
import { webSearchTool } from '../../../operators/tools/web/webSearchTool.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { impatientClock } from '../../support/impatientClock.ts';

const KEY = 'sk-Q7wZ0mLr93xTfVb5YdHn2KcPa8GeUj4SoRi6Nq1Wv';
/** Any so many characters of the key are too many. */
const PIECE = 8;
const everything = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
);
const signal = new AbortController().signal;
const folder = temporaryFolder();
const open: { close(): Promise<void> | void }[] = [];
let cache: ToolCache;

beforeAll(() => {
  keepSecret(KEY);
  cache = openToolCache({ path: join(folder.path, 'tools.mdb'), clock: manualClock() });
});
afterAll(async () => {
  for (const each of open.reverse()) await each.close();
  await cache.close();
  folder.remove();
});

const disguises: readonly string[] = [
  KEY,
  [...KEY].join('\u200b'),
  [...KEY].join('\u200b'.repeat(20)),
  `${KEY.slice(0, 20)}\n${KEY.slice(20)}`,
  `${KEY.slice(0, 9)}\u00ad${KEY.slice(9)}`,
  encodeURIComponent(KEY),
  Buffer.from(`user:${KEY}`).toString('base64'),
];

/** The longest run of characters of the key that the text has, without what nobody sees. */
function leaked(text: string): string {
  const seen = text.replace(/[\p{Cc}\p{Cf}]/gu, '');
  const pieces = [KEY, Buffer.from(KEY).toString('base64')].flatMap((key) =>
    Array.from({ length: key.length - PIECE + 1 }, (_, i) => key.slice(i, i + PIECE)),
  );
  return pieces.find((piece) => seen.includes(piece)) ?? '';
}

describe('a key that is echoed', () => {
  test('by an MCP server is redacted before the result is cut', async () => {
    const command = process.execPath;
    const place = { kind: 'process', command, args: [everything, 'stdio'], env: {} } as const;
    const server = mcpServer({ name: 'ref', place, timeoutMs: 20_000 });
    open.push(server);
    const about = 'says it again';
    const parameters = {
      type: 'object',
      properties: { message: { type: 'string' } },
      required: ['message'],
    } as const;
    const spec = { server: 'ref', tool: 'echo', name: 'echo', about, parameters };
    for (const charactersMax of [20, 40, 52, 53, 54, 60, 4000]) {
      const tool = mcpTool(server, spec, { charactersMax, concurrencyMax: 1 });
      const box = toolbox([tool], { attemptsMax: 1, clock: manualClock() });
      for (const disguise of disguises.filter((one) => !one.includes('\u200b'.repeat(20)))) {
        const { output } = await box.call('echo', disguise, signal);
        expect([charactersMax, disguise, leaked(output)]).toEqual([charactersMax, disguise, '']);
      }
    }
  });

  test('by a search is neither shown nor kept', async () => {
    const replies = disguises.map((disguise, i) => ({
      ...{ title: `${'t'.repeat(i)}${disguise}`, link: 'https://a.example/' },
      snippet: `${'x'.repeat(250 + 7 * i)} ${disguise} ${'y'.repeat(300)}`,
    }));
    const echo = createServer((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ results: replies }));
    });
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
    open.push({ close: () => void echo.close() });
    const url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}/search?q={query}`;
    const fields = { title: 'title', url: 'link', snippet: 'snippet' };
    const asked = { headers: [], body: '', results: 'results', fields };
    const provider = template({ url, ...asked, region: '', language: 'en', top: 10 } as never);
    const clock = impatientClock((ms) => ms >= 60_000);
    const web = webSearch({ provider, keys: [KEY], clock });
    for (const charactersMax of [40, 260, 280, 300, 330, 5000]) {
      const tool = webSearchTool({
        ...{ web, once: askOnce(cache), cache, top: 10, charactersMax, contextCharacters: 0 },
        ...{ recordsCharactersMax: 0, concurrencyMax: 1, read: null, summariser: null },
      } as never);
      const box = toolbox([tool], { attemptsMax: 1, clock: manualClock() });
      const { output } = await box.call('search', `key ${charactersMax}`, signal);
      expect(output).toContain('Page 7');
      expect([charactersMax, leaked(output)]).toEqual([charactersMax, '']);
    }
    const entries = [...cache.entries()].map((entry) => JSON.stringify(entry));
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.map(leaked).filter(Boolean)).toEqual([]);
    expect(leaked((await readFile(join(folder.path, 'tools.mdb'))).toString('latin1'))).toBe('');
    web.close();
  });
});
