import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../base/clock.ts';
import { every, later } from '../../base/sleepClock.ts';
import { VirtualClock } from '../../simulate/world/virtualClock.ts';

describe('what happens later', () => {
  test('happens in the time of a clock that sleeps in its own way', async () => {
    const clock = new VirtualClock(1, 0);
    const beats: number[] = [];
    const end = every(clock, 200, () => beats.push(clock.now()));
    later(clock, 700, () => beats.push(-1));
    later(clock, 750, () => beats.push(-2))();
    clock.at(1_000, end);
    expect(await clock.run(() => false)).toBe('nothing');
    expect(beats.slice(0, 4)).toEqual([200, 400, 600, -1]);
    expect(beats.slice(4)).not.toContain(1_200);
  });

  test('happens by the timers of the process otherwise, until it is ended', async () => {
    let beats = 0;
    await new Promise<void>((resolve) => {
      const end = every(systemClock, 1, () => {
        beats += 1;
        if (beats < 3) return;
        end();
        later(systemClock, 1, resolve);
      });
    });
    expect(beats).toBe(3);
  });
});
