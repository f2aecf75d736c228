import { expect, it } from '@jest/globals';
import { waiting } from '../../../model/remote/waitingClock.ts';

const clock = waiting({ now: () => 7 });

it('a waiting clock tells the time of the clock it is made of, and sleeps', async () => {
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
