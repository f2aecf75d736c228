import { expect, it } from '@jest/globals';
import { sleepClock } from '../../base/sleepClock.ts';

const clock = sleepClock({ now: () => 7 });

it('a sleep clock tells the time of the clock it is made of, and sleeps', async () => {
  expect(clock.now()).toBe(7);
  await expect(clock.sleep(1)).resolves.toBeUndefined();
});

it('a sleep ends with the reason of an aborted signal', async () => {
  const caller = new AbortController();
  const asleep = clock.sleep(60_000, caller.signal);
  caller.abort(new Error('enough'));
  await expect(asleep).rejects.toThrow('enough');
  await expect(clock.sleep(60_000, caller.signal)).rejects.toThrow('enough');
});
