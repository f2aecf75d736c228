import { expect, test } from '@jest/globals';
import { steadyClock } from '../../base/clock.ts';

const HOUR_MS = 3_600_000;

test('a steady clock never goes back when the system clock does, and follows it forwards', () => {
  let [wallMs, monotonicMs] = [1_000_000_000, 50];
  const clock = steadyClock(
    () => wallMs,
    () => monotonicMs,
  );
  const pass = (ms: number, stepMs = 0): number => {
    wallMs += ms + stepMs;
    monotonicMs += ms;
    return clock.now();
  };
  const startMs = clock.now();
  expect(startMs).toBe(1_000_000_000);
  expect(pass(10)).toBe(startMs + 10);
  expect(pass(10, -HOUR_MS)).toBe(startMs + 20);
  expect(pass(10)).toBe(startMs + 30);
  expect(pass(10, 2 * HOUR_MS)).toBe(startMs + 40 + HOUR_MS);
  expect(pass(10, -HOUR_MS)).toBe(startMs + 50 + HOUR_MS);
});
