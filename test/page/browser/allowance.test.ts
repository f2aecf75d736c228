/** A tab that sleeps costs no memory: after so many messages it is told nothing more, and that it missed some when it wakes. */
import { expect, test } from '@jest/globals';
import { allowance } from '../../../page/browser/logic/allowance.ts';
import type { Heard } from '../../../page/browser/logic/hub.ts';

const event = (name: string): Heard => ({ kind: 'event', name, data: '{}' });

test('a tab that takes what it is told is told everything', () => {
  const told: Heard[] = [];
  const { tell, took } = allowance((heard) => told.push(heard), 2);
  for (let i = 0; i < 50; i++) {
    tell(event(String(i)));
    took();
  }
  expect(told).toEqual(Array.from({ length: 50 }, (_, i) => event(String(i))));
});

test('one that takes nothing is told so many; once it has taken them, that it missed some, and then what is new', () => {
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
