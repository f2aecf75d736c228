/** Addresses of the page: what each names, and that what is written is read again. */
import { describe, expect, test } from '@jest/globals';
import {
  dataUrl,
  hrefOf,
  pathOf,
  queryOf,
  routeOf,
  searchOf,
  stepOf,
  withQuery,
} from '../../../page/browser/logic/route.ts';

describe('an address of the page', () => {
  test.each([
    ['/', { page: 'runs' }],
    ['/r/mine', { page: 'overview', run: 'mine', id: '' }],
    ['/r/mine/', { page: 'overview', run: 'mine', id: '' }],
    ['/r/mine/results', { page: 'results', run: 'mine', id: '' }],
    ['/r/mine/metrics', { page: 'metrics', run: 'mine', id: '' }],
    ['/r/mine/topics/tool-calls', { page: 'topics', run: 'mine', id: 'tool-calls' }],
    ['/r/mine/q/a%2Fb', { page: 'question', run: 'mine', id: 'a/b' }],
    ['/r/mine/t/q1/explore-1/3', { page: 'trajectory', run: 'mine', id: 'q1/explore-1/3' }],
    ['/r/mine/weights/7', { page: 'weights', run: 'mine', id: '7' }],
    ['/diff/a..b', { page: 'diff', a: 'a', b: 'b' }],
  ])('%s names a view', (path, route) => {
    expect(routeOf(path)).toEqual(route);
  });

  test.each([
    '/x',
    '/r',
    '/r/',
    '/r/mine/else',
    '/r/mine/t',
    '/r/mine/metrics/3',
    '/diff/a',
    '/diff/a..b..c',
    '/r/%E0%A4%A',
  ])('%s names none', (path) => {
    expect(routeOf(path)).toEqual({ page: 'unknown', path });
  });

  test('is read as it was written, whatever the ids contain', () => {
    for (const id of ['812', 'a b/explore-1/0', '100%', '?&#', 'ü⟨⟩']) {
      const route = { page: 'trajectory', run: 'run 1', id } as const;
      expect(routeOf(pathOf(route))).toEqual(route);
    }
  });
});

describe('a query of the page', () => {
  test('keeps what a view does not know', () => {
    const query = queryOf('?at=step:12&later=1');
    expect(withQuery(query, { at: undefined, m: 'loss' })).toEqual({ later: '1', m: 'loss' });
  });

  test('is written legibly', () => {
    expect(searchOf({ m: 'reward/mean,kl/behaviour', at: 'step:120' })).toBe(
      '?m=reward/mean,kl/behaviour&at=step:120',
    );
    expect(queryOf(searchOf({ where: 'a < 2 and b = "x&y"' }))).toEqual({
      where: 'a < 2 and b = "x&y"',
    });
  });

  test('names a step only as step:N', () => {
    expect(stepOf({ at: 'step:120' })).toBe(120);
    expect(stepOf({ at: 'offset:3' })).toBeNull();
    expect(stepOf({})).toBeNull();
  });
});

test('every view has its data at its address with .json', () => {
  expect(dataUrl('/')).toBe('/runs.json');
  expect(dataUrl('/r/mine', { at: 'step:3' })).toBe('/r/mine.json?at=step:3');
  expect(hrefOf({ page: 'topics', run: 'mine', id: 'rollouts' }, { offset: '3' })).toBe(
    '/r/mine/topics/rollouts?offset=3',
  );
});
