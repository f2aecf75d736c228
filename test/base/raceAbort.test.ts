import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { orAborted } from '../../base/raceAbort.ts';

const never = new Promise<never>(() => undefined);

describe('orAborted', () => {
  test('gives the result of the work, and fails as it fails', async () => {
    const waits = orAborted(new AbortController().signal);
    expect(await waits.wait(Promise.resolve(7))).toBe(7);
    await expect(waits.wait(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  test('gives null from the moment that the signal aborts', async () => {
    const controller = new AbortController();
    const waits = orAborted(controller.signal);
    const waiting = waits.wait(never);
    controller.abort();
    expect(await waiting).toBeNull();
    expect(await waits.wait(never)).toBeNull();
  });

  test('keeps no reference to what it waited for', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const waits = orAborted(new AbortController().signal);
    const results: WeakRef<object>[] = [];
    for (let i = 0; i < 200; i++) {
      const result = { i };
      results.push(new WeakRef(result));
      await waits.wait(Promise.resolve(result));
    }
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    const kept = results.filter((result) => result.deref() !== undefined).length;
    expect(kept).toBeLessThan(10);
    waits.forget();
  });
});
