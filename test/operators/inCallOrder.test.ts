import { describe, expect, test } from '@jest/globals';
import { inCallOrder } from '../../operators/inCallOrder.ts';

describe('inCallOrder', () => {
  test('gives results in the order of the calls, whichever is finished first', async () => {
    const doors: (() => void)[] = [];
    const call = inCallOrder(async (name: string) => {
      await new Promise<void>((open) => doors.push(open));
      return name;
    });
    const came: string[] = [];
    const calls = ['a', 'b', 'c'].map((name) => call(name).then((result) => came.push(result)));
    expect(doors).toHaveLength(3);
    for (const door of doors.reverse()) {
      door();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(calls);
    expect(came).toEqual(['a', 'b', 'c']);
  });

  test('rejects at once, and goes on with later calls', async () => {
    const call = inCallOrder(async (value: number) => {
      if (value < 0) throw new Error('negative');
      return value;
    });
    const [bad, good] = [call(-1), call(2)];
    await expect(bad).rejects.toThrow('negative');
    expect(await good).toBe(2);
  });
});
