/** `millrace cache`: what is kept is listed, taken from and given to the papers' form, and deleted. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { askOnce } from '../../../operators/tools/cache/askOnce.ts';
import { openToolCache } from '../../../operators/tools/cache/toolCache.ts';
import { webSearchTool } from '../../../operators/tools/web/webSearchTool.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { fakeIo } from '../support/fakeIo.ts';

const DAY_MS = 86_400_000;
const NOW_MS = 100 * DAY_MS;
let folder: string;
let count = 0;
let cache: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cache-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => {
  cache = `${count++}.mdb`;
});

async function millrace(...args: readonly string[]) {
  const io = fakeIo(folder, NOW_MS);
  const code = await main(['cache', ...args, '--cache', cache], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

async function released(content: unknown): Promise<string> {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  await writeFile(join(folder, 'released.json'), text);
  return 'released.json';
}

/** Results of a provider of 40 days ago, and a page of today. */
async function searched(): Promise<void> {
  const clock = manualClock(NOW_MS - 40 * DAY_MS);
  const kept = openToolCache({ path: join(folder, cache), clock });
  const results = [{ title: 't', url: 'u', siteName: '', date: '', snippet: 'found' }];
  const value = JSON.stringify({ kind: 'found', results });
  await kept.put({ kind: 'search', scope: '["serper"]', key: 'Who?' }, value);
  clock.advance(40 * DAY_MS);
  await kept.put({ kind: 'page', scope: 'web', key: 'http://a/' }, '{}');
  await kept.close();
}

describe('a released cache', () => {
  const texts = {
    'Who was "X"?': 'Page 1: é\nPage 2: 磨坊',
    'search query: b': 'No search results found.',
    __proto__x: 'Page 1: odd',
  };

  test('is imported, answers searches, and is exported unchanged', async () => {
    const taken = await millrace('import', await released(texts));
    expect([taken.code, taken.err]).toEqual([0, `imported 3 results into ${join(folder, cache)}`]);
    const kept = openToolCache({ path: join(folder, cache), clock: manualClock() });
    const tool = webSearchTool({ web: null, once: askOnce(kept), cache: kept });
    const { output } = await tool.run('who was x', new AbortController().signal);
    expect(output).toBe('Page 1: é\nPage 2: 磨坊');
    await kept.close();
    expect((await millrace('export', 'out.json')).code).toBe(0);
    const text = readFileSync(join(folder, 'out.json'), 'utf8');
    expect(JSON.parse(text)).toEqual(texts);
    expect(text).toContain('  "search query: b": "No search results found."');
    expect((await millrace('export')).out).toBe(text);
  });

  test('keeps the last of equal queries', async () => {
    const { err } = await millrace('import', await released({ 'A b': '1', 'a, B!': '2' }));
    expect(err).toMatch(
      /^imported 1 result into .*; skipped 1 that differ only in case or punctuation/,
    );
    expect(JSON.parse((await millrace('export')).out)).toEqual({ 'a, B!': '2' });
  });

  test.each(['[]', 'null', '{"a": 1}', '{"a": {"b": "c"}}', 'nothing', ''])(
    'cannot be %j',
    async (text) => {
      const { code, err } = await millrace('import', await released(text));
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(/released\.json is not a search cache: /),
      ]);
    },
  );

  test('that does not exist is named', async () => {
    expect(await millrace('import', 'none.json')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/cannot read none\.json \(ENOENT\)/),
    });
  });

  const real = join(process.cwd(), '..', 'shared', 'data', 'search_cache.json');
  (existsSync(real) ? test : test.skip)('of the papers goes through whole', async () => {
    expect((await millrace('import', real)).err).toMatch(/^imported 997 results/);
    expect(JSON.parse((await millrace('export')).out)).toEqual(
      JSON.parse(readFileSync(real, 'utf8')),
    );
  });
});

test('cached results of a provider are exported as the text that a policy read', async () => {
  await searched();
  expect(JSON.parse((await millrace('export')).out)).toEqual({ 'Who?': 'Page 1: found' });
});

test('cache list says what is kept', async () => {
  const path = join(folder, cache);
  expect((await millrace('ls')).out).toBe(`${path} is empty\n`);
  expect(existsSync(path)).toBe(false);
  await searched();
  expect((await millrace('ls')).out.split('\n')).toEqual([
    path,
    'kind    entries  size  oldest      newest      of',
    expect.stringMatching(/^page +1 +11 B +1970-04-11 +1970-04-11 +web$/),
    expect.stringMatching(/^search +1 +\d+ B +1970-03-02 +1970-03-02 +\["serper"\]$/),
    '',
  ]);
  const { kept } = JSON.parse((await millrace('ls', '--json')).out) as { kept: unknown[] };
  expect(kept).toMatchObject([{ kind: 'page', entries: 1 }, { kind: 'search' }]);
});

describe('cache prune', () => {
  const left = async (): Promise<unknown[]> => {
    const { kept } = JSON.parse((await millrace('ls', '--json')).out) as {
      kept: { kind: string }[];
    };
    return kept.map(({ kind }) => kind);
  };

  test.each([
    [['--older-than', '30'], ['page']],
    [
      ['--older-than', '40'],
      ['page', 'search'],
    ],
    [['--kind', 'page'], ['search']],
    [
      ['--kind', 'page', '--older-than', '1'],
      ['page', 'search'],
    ],
    [['--all'], []],
  ])('with %j leaves %j', async (args, expected) => {
    await searched();
    expect((await millrace('prune', ...args)).code).toBe(0);
    expect(await left()).toEqual(expected);
  });

  test('asks what to remove', async () => {
    await searched();
    expect(await millrace('prune')).toMatchObject({ code: 2, err: expect.stringMatching(/--all/) });
    expect(await left()).toEqual(['page', 'search']);
  });

  test('creates no cache', async () => {
    expect(await millrace('prune', '--all')).toMatchObject({ code: 2 });
    expect(existsSync(join(folder, cache))).toBe(false);
  });
});
