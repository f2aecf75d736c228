import { expect, test } from '@jest/globals';
import { HotRuns } from '../../../../page/server/http/hotRuns.ts';
import type { RunView } from '../../../../page/server/run/runView.ts';

function fakes() {
  const opened: string[] = [];
  const closed: string[] = [];
  const hot = new HotRuns(async (name) => {
    opened.push(name);
    return {
      view: { name } as unknown as RunView,
      close: async () => void closed.push(name),
    };
  });
  const look = (name: string) => hot.with(name, async () => undefined);
  return { hot, opened, closed, look };
}

test('four runs stay open; the least recently used one is closed for a fifth', async () => {
  const { opened, closed, look } = fakes();
  for (const name of ['a', 'b', 'c', 'd', 'a', 'e']) await look(name);
  expect(opened).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(closed).toEqual(['b']);
});

test('a run in use is never closed; when all four are in use, a further one is refused', async () => {
  const { hot, closed, look } = fakes();
  const kept = [];
  for (let i = 0; i < 16; i++) kept.push(await hot.take(`kept-${i}`));
  expect(closed).toEqual([]);
  await expect(look('one-more')).rejects.toMatchObject({ code: 'BUSY' });
  kept[3]?.release();
  kept[3]?.release();
  await look('one-more');
  expect(closed).toContain('kept-3');
});

test('a run that could not be opened is tried again', async () => {
  let works = false;
  const hot = new HotRuns(async () => {
    if (!works) throw new Error('not yet');
    return { view: {} as RunView, close: async () => undefined };
  });
  await expect(hot.take('a')).rejects.toThrow('not yet');
  works = true;
  await expect(hot.take('a')).resolves.toBeDefined();
});
