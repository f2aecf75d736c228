import { describe, expect, test } from '@jest/globals';
import { faultsOf } from '../../simulate/faults/fault.ts';
import { historyOf } from '../../simulate/faults/history.ts';
import { shapeOf } from '../../simulate/world/shape.ts';
import { VirtualClock } from '../../simulate/world/virtualClock.ts';

describe('virtual time', () => {
  test('passes only when nothing else can run, one sleeper after the other', async () => {
    const clock = new VirtualClock(1, 0);
    const story: string[] = [];
    const sleeper = async (name: string, ms: number): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await clock.sleep(ms);
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
        await new Promise((resolve) => process.nextTick(resolve));
        story.push(`${name}@${clock.now()}`);
      }
    };
    void sleeper('a', 1000);
    void sleeper('b', 1500);
    expect(await clock.run(() => false)).toBe('nothing');
    expect(story.slice(0, 3)).toEqual(['a@1000', 'b@1500', 'a@2000']);
    expect(story.slice(3, 5).sort()).toEqual(['a@3000', 'b@3000']);
    expect(story.at(-1)).toBe('b@4500');
  });

  test('ends a sleep whose signal aborts, and wakes no one for it', async () => {
    const clock = new VirtualClock(1, 0);
    const stop = new AbortController();
    const slept = clock.sleep(1e9, stop.signal).catch((error: unknown) => error);
    clock.at(5, () => stop.abort('enough'));
    expect(await clock.run(() => false)).toBe('nothing');
    expect(await slept).toBe('enough');
    expect(clock.now()).toBe(5);
  });
});

describe('a simulated run', () => {
  const calm = [1, 2, 3, 4];

  test.each(calm)('of seed %i ends, and keeps all laws', async (seed) => {
    const history = await historyOf(shapeOf(seed), []);
    expect(history.breaches).toEqual([]);
    expect(history.versions).toBeGreaterThan(0);
  });

  test('is the same to the byte whenever it is run again, with its faults', async () => {
    for (const seed of [3, 9]) {
      const shape = shapeOf(seed);
      const faults = faultsOf(shape);
      const [one, two] = [await historyOf(shape, faults), await historyOf(shape, faults)];
      expect(one.breaches).toEqual([]);
      expect(two).toEqual(one);
    }
  });
});
