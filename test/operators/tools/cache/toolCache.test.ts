/**
 * What tools brought in, on disk: found again under the same place, in another process too, and asked for
 * once.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { askOnce } from '../../../../operators/tools/cache/askOnce.ts';
import { cachedTool } from '../../../../operators/tools/cache/cachedTool.ts';
import {
  defaultCachePath,
  openToolCache,
  type ToolCache,
} from '../../../../operators/tools/cache/toolCache.ts';
import { pureTool } from '../../../../operators/tools/tool.ts';
import { manualClock } from '../../../../testing/manualClock.ts';

const DAY_MS = 86_400_000;
const signal = new AbortController().signal;
const clock = manualClock();
let folder: string;
let count = 0;
let path: string;
let cache: ToolCache;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cache-'));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => {
  path = join(folder, `${count++}`, 'tools.mdb');
  cache = openToolCache({ path, clock });
});
afterEach(() => cache.close());

const page = (key: string, scope = '') => ({ kind: 'page', scope, key }) as const;
const search = (key: string, scope = '') => ({ kind: 'search', scope, key }) as const;

describe('the cache of tool results', () => {
  test('finds what was stored, by kind, scope and key', async () => {
    await cache.put(page('a'), 'one\ud83d\ude00');
    expect(cache.get(page('a'))).toBe('one\ud83d\ude00');
    expect(cache.get(page('A'))).toBeUndefined();
    expect(cache.get(page('a', 'other'))).toBeUndefined();
    expect(cache.get(search('a'))).toBeUndefined();
    await cache.put(page('a'), 'two');
    expect(cache.get(page('a'))).toBe('two');
    await cache.remove(page('a'));
    expect(cache.get(page('a'))).toBeUndefined();
  });

  test('treats queries that differ only in case and punctuation as equal', async () => {
    await cache.put(search(' What is "New-York"?  '), 'a city');
    expect(cache.get(search('what is newyork'))).toBe('a city');
    expect(cache.get(search('what is new york'))).toBeUndefined();
  });

  test('takes keys of any length and any characters', async () => {
    const odd = ['', 'x'.repeat(100_000), '\0', '\ud800', 'a/b', '"'];
    for (const [place, key] of odd.entries()) await cache.put(page(key), `${place}`);
    expect(odd.map((key) => cache.get(page(key)))).toEqual(odd.map((_, place) => `${place}`));
  });

  test('persists for the next run, and lists what it holds', async () => {
    await cache.put(search('q', 's'), 'v');
    await cache.put(page('u'), 'w');
    await cache.close();
    cache = openToolCache({ path, clock });
    expect(
      [...cache.entries()].map(({ kind, scope, key, value }) => [kind, scope, key, value]),
    ).toEqual([
      ['page', '', 'u', 'w'],
      ['search', 's', 'q', 'v'],
    ]);
  });

  test('ignores entries that are too old', async () => {
    await cache.put(page('a'), 'old');
    const young = openToolCache({ path: join(folder, 'young.mdb'), clock, daysMax: 2 });
    await young.put(page('a'), 'v');
    clock.advance(2 * DAY_MS);
    expect(young.get(page('a'))).toBe('v');
    clock.advance(1);
    expect([young.get(page('a')), cache.get(page('a'))]).toEqual([undefined, 'old']);
    await young.close();
  });
});

test('the cache of a user is in their cache folder', () => {
  expect(defaultCachePath({ XDG_CACHE_HOME: '/x' })).toBe(join('/x', 'millrace', 'tools.mdb'));
});

describe('a shared request', () => {
  test('serves all equal calls at the same time, and later ones from the cache', async () => {
    const once = askOnce(cache);
    let asks = 0;
    const ask = async () => ({ value: `said ${++asks}`, keep: true });
    const all = await Promise.all([1, 2, 3].map(() => once(page('a'), ask, signal)));
    expect(all.map(({ value, cached }) => [value, cached])).toEqual([
      ['said 1', false],
      ['said 1', true],
      ['said 1', true],
    ]);
    expect(await once(page('a'), ask, signal)).toEqual({ value: 'said 1', cached: true });
    expect(asks).toBe(1);
  });

  test('shares a failure with those who wait, and is repeated later', async () => {
    const once = askOnce(cache);
    let asks = 0;
    const ask = async () => ({ value: `failed ${++asks}`, keep: false });
    const both = await Promise.all([1, 2].map(() => once(page('a'), ask, signal)));
    expect(both.map(({ value }) => value)).toEqual(['failed 1', 'failed 1']);
    expect((await once(page('a'), ask, signal)).value).toBe('failed 2');
  });

  test('continues for the others if the first caller is aborted', async () => {
    const once = askOnce(null);
    const ending = new AbortController();
    const first = once(
      page('a'),
      () => new Promise((_, reject) => ending.signal.addEventListener('abort', reject)),
      ending.signal,
    );
    const second = once(page('a'), async () => ({ value: 'v', keep: true }), signal);
    ending.abort(new Error('ended'));
    await expect(first).rejects.toBeDefined();
    expect((await second).value).toBe('v');
  });
});

test('a pure tool runs a program once, unless it failed', async () => {
  let runs = 0;
  const tool = pureTool('python', 'Runs.', (input) => {
    runs++;
    if (input === 'bad') throw new Error('no');
    return `ran ${input}`;
  });
  const kept = cachedTool(tool, cache, 'v1');
  expect(await kept.run('x', signal)).toEqual({ output: 'ran x', ok: true, cached: false });
  expect(await kept.run('x', signal)).toEqual({ output: 'ran x', ok: true, cached: true });
  await expect(kept.run('bad', signal)).rejects.toThrow('no');
  await expect(kept.run('bad', signal)).rejects.toThrow('no');
  expect(runs).toBe(3);
  expect((await cachedTool(tool, cache, 'v2').run('x', signal)).cached).toBe(false);
  expect(() => cachedTool({ ...tool, pure: false }, cache, '')).toThrow(/cannot be cached/);
});
