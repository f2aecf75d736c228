/** Whether a process of a run on Kafka is alive, by what it says about itself. */
import { hostname } from 'node:os';
import { expect, test } from '@jest/globals';
import { gaveSign, mustHaveSources } from '../../cli/startGuard.ts';
import { impatientClock } from '../support/impatientClock.ts';

const clock = impatientClock();

/**
 * A log whose board says these one after the other, the last one forever; a number: after so many
 * milliseconds, what was said before.
 */
function board(...said: readonly (string | number)[]) {
  let at = 0;
  let last = '';
  return {
    async posted() {
      const next = said[Math.min(at++, said.length - 1)]!;
      if (typeof next === 'number') await clock.sleep(next);
      else last = next;
      return [{ worker: 'other', host: 'elsewhere', pid: 1, sources: [{ name: 's' }], at: last }];
    },
  };
}

const run = { name: 'r', log: 'kafka://b', record: {} } as unknown as Parameters<
  typeof mustHaveSources
>[0];
const flow = { sources: [{ name: 's' }] } as unknown as Parameters<typeof mustHaveSources>[1];
const asked = (log: unknown) =>
  mustHaveSources(run, flow, log as Parameters<typeof mustHaveSources>[2], clock);

test('a process that was not heard while the broker stalled counts as alive', async () => {
  await expect(asked(board('one', 4_000, 'two'))).rejects.toMatchObject({ code: 'LOCKED' });
});

test('a process that reports nothing new counts as gone', async () => {
  await expect(asked(board('one'))).resolves.toBeUndefined();
});

test('a process on this machine counts as alive though its broker brings nothing new', async () => {
  const said = (pid: number) => ({ posted: async () => [{ host: hostname(), pid, ended: false }] });
  expect(await gaveSign(said(process.pid), clock)).toBe(true);
  expect(await gaveSign(said(2 ** 22 + 1), clock)).toBe(false);
});
