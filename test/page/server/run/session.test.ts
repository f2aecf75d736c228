/** The calls of a session in lanes. */
import { expect, test } from '@jest/globals';
import { callsIn } from '../../../../page/server/run/session.ts';
import { samples } from '../../../support/records.ts';

const record = (call: number, parent: number) => ({
  ...samples.calls.full,
  ...{ call, parent, startedMs: 100 * call, endedMs: 100 * call + 30 },
});
const policy = (start: number, end: number) =>
  ({ kind: 'policy', start, end, version: 0, entropy: null, tool: null }) as const;

test('a fork has a lane of its own, and calls that no rollout has are left out', () => {
  const { session } = samples.rollouts.full;
  const calls = [0, 1, 2, 3, 4].map((call) => ({ call, start: 10 * call, end: 10 * call + 4 }));
  const segments = [policy(0, 4), policy(10, 14), policy(20, 24), policy(30, 34)];
  // 0 ─ 1 ─ 3, and 2 beside 1; 4 begins anew.
  const records = [record(3, 1), record(0, -1), record(1, 0), record(2, 0), record(4, -1)];
  const shown = callsIn({ session: { ...session!, calls }, segments }, [...records, record(9, 4)]);
  expect(shown.map(({ call, lane, turn, ms }) => [call, lane, turn, ms])).toEqual([
    [0, 0, 0, 30],
    [1, 0, 1, 30],
    [2, 1, 2, 30],
    [3, 0, 3, 30],
    [4, 2, null, 30],
  ]);
});
