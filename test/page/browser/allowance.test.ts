/**
 * A tab that sleeps costs no memory: after so many messages it is sent nothing more, and that it missed some
 * when it wakes.
 */
import { expect, test } from '@jest/globals';
import { allowance } from '../../../page/browser/logic/allowance.ts';
import type { Heard } from '../../../page/browser/logic/hub.ts';

const event = (name: string): Heard => ({ kind: 'event', name, data: '{}' });

test('a tab that keeps up is sent everything', () => {
  const told: Heard[] = [];
  const { tell, took } = allowance((heard) => told.push(heard), 2);
  for (let i = 0; i < 50; i++) {
    tell(event(String(i)));
    took();
  }
  expect(told).toEqual(Array.from({ length: 50 }, (_, i) => event(String(i))));
});

test('a tab that falls behind is sent a bounded number, then how many it missed, then what is new', () => {
  const told: Heard[] = [];
  const { tell, took } = allowance((heard) => told.push(heard), 3);
  for (let i = 0; i < 1000; i++) tell(event('old'));
  expect(told).toHaveLength(3);
  took();
  took();
  tell(event('between'));
  expect(told).toHaveLength(3);
  took();
  expect(told.slice(3)).toEqual([{ kind: 'missed' }]);
  took();
  tell(event('new'));
  expect(told.slice(4)).toEqual([event('new')]);
});
