/** The calls of a session in lanes. */
import { expect, test } from '@jest/globals';
import { now } from '../../../../page/server/run/moment.ts';
import { callsIn, sessionView } from '../../../../page/server/run/session.ts';
import type { Log } from '../../../../streams/log.ts';
import { topics } from '../../../../topics/index.ts';
import { freshLog } from '../../../support/freshLog.ts';
import { rollout, samples } from '../../../support/records.ts';

let log: Log;
freshLog((fresh) => {
  log = fresh;
});

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

test('calls of MCP tools stand after the model call that they came after, with what was answered', async () => {
  const { session } = samples.rollouts.full;
  const made = rollout({
    segments: [policy(0, 4), policy(10, 14)],
    session: {
      ...session!,
      calls: [0, 1].map((call) => ({ call, start: 10 * call, end: 10 * call + 4 })),
    },
  });
  const call = (number: number, after: number, over: object = {}) => ({
    ...samples.mcpCalls.full,
    ...{ sessionId: made.id, ranFor: made.id, number, after, startedMs: 5, endedMs: 17 },
    ...over,
  });
  const refused = { output: '{"error":{"code":-32000,"message":"no such file"}}' };
  const failed = '{"result":{"isError":true,"content":[{"type":"text","text":"denied"}]}}';
  await log.commit((tx) => {
    for (const number of [0, 1]) {
      const own = { sessionId: made.id, call: number, parent: number - 1 };
      tx.append(topics.calls, { ...samples.calls.full, ...own });
    }
    // What came of a model call that no rollout has is left out, and so is another session's.
    tx.append(topics.mcpCalls, call(3, 1, { output: failed }));
    tx.append(topics.mcpCalls, call(0, -1));
    tx.append(topics.mcpCalls, call(1, 0, { ranFor: 'q1/explore-0/9' }));
    tx.append(topics.mcpCalls, call(2, 0, refused));
    tx.append(topics.mcpCalls, call(4, 7));
    tx.append(topics.mcpCalls, { ...call(5, 0), sessionId: 'q1/explore-0/9' });
  });
  const { tools } = (await sessionView(log, now, made, 1000))!;
  const seen = tools.map(({ after, turn, ok, fromRecord, output, ref }) => [
    ...[after, turn, ok, fromRecord, output, ref],
  ]);
  expect(seen).toEqual([
    [-1, null, true, false, '🌊', '1'],
    [0, 0, true, true, '🌊', '2'],
    [0, 0, false, false, 'no such file', '3'],
    [1, 1, false, false, 'denied', '0'],
  ]);
  expect(tools[0]).toMatchObject({ tool: 'files.read', input: '{"path":"a.txt"}', ms: 12 });
});
