/** Several signals as one: it aborts with the first, and leaves nothing on a signal that lives on. */
import { getEventListeners } from 'node:events';
import { expect, test } from '@jest/globals';
import { eitherSignal } from '../../base/eitherSignal.ts';
import { unlessStopping } from '../../streams/deliveries/stopping.ts';

test('aborts with the first of its signals, for its reason', () => {
  const [a, b] = [new AbortController(), new AbortController()];
  const { signal } = eitherSignal([a.signal, b.signal]);
  expect(signal.aborted).toBe(false);
  b.abort('enough');
  a.abort('later');
  expect([signal.aborted, signal.reason]).toEqual([true, 'enough']);
  expect(eitherSignal([a.signal, b.signal]).signal.reason).toBe('later');
});

test('does not abort after its release', () => {
  const a = new AbortController();
  const { signal, release } = eitherSignal([a.signal]);
  release();
  a.abort();
  expect(signal.aborted).toBe(false);
});

/** What a signal keeps for others: listeners, and entries of `AbortSignal.any`. */
function keptOn(signal: AbortSignal): number {
  const entries = Object.getOwnPropertySymbols(signal)
    .filter(({ description }) => description === 'kDependantSignals')
    .map((symbol) => (signal as unknown as Record<symbol, Set<unknown>>)[symbol]!.size);
  return getEventListeners(signal, 'abort').length + entries.reduce((sum, size) => sum + size, 0);
}

test('a wait of a stage leaves nothing on the signal of its run', async () => {
  const { signal: stopping } = new AbortController();
  const { signal } = new AbortController();
  const waits = Array.from({ length: 50 }, (_, i) =>
    unlessStopping({ signal, stopping }, 'a question', async (until) => {
      if (i % 2 === 1) throw new Error('of the work');
      return until.aborted;
    }).catch((error: Error) => error.message),
  );
  expect(new Set(await Promise.all(waits))).toEqual(new Set([false, 'of the work']));
  expect([keptOn(signal), keptOn(stopping)]).toEqual([0, 0]);
  // This is what the wait did before.
  AbortSignal.any([signal, stopping]);
  expect(keptOn(stopping)).toBe(1);
});
