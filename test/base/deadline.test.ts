/** Work under a deadline: what loops ends, and what merely waits for a processor does not. */
import { expect, test } from '@jest/globals';
import { withinDeadline } from '../../base/deadline.ts';

const late = () => new Error('too long');

test('work that loops is ended', () => {
  let begun = 0;
  const forever = (): never => {
    begun++;
    for (;;);
  };
  expect(() => withinDeadline(forever, late)).toThrow('too long');
  expect(begun).toBeGreaterThanOrEqual(2);
});

test('work that gets no processor time is begun again', () => {
  let begun = 0;
  const starved = (): string => {
    // The first three times it waits for longer than it may take.
    if (begun++ < 3) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
    return 'done';
  };
  expect(withinDeadline(starved, late)).toBe('done');
  expect(begun).toBe(4);
});

test('an error of the work is its own', () => {
  const fails = (): never => {
    throw new RangeError('of the work');
  };
  expect(() => withinDeadline(fails, late)).toThrow('of the work');
});
