import { expect, test } from '@jest/globals';
import { factsOf, headerOf, sampleOf } from '../../../cli/export/inspect.ts';
import { rollout, samples } from '../../support/records.ts';

test('the means of a log of Inspect leave failed rollouts out', () => {
  const facts = [
    factsOf(rollout(), { score: 1, parts: { raw: 1 } }),
    factsOf(rollout({ index: 1, status: 'failed' }), { score: 0, parts: { raw: 0 } }),
  ];
  const header = headerOf(facts, { run: 'r', job: 'arpo', version: '0', asked: 'explore-1' });
  expect(header.results).toMatchObject({
    total_samples: 2,
    scores: [
      { name: 'raw', metrics: { mean: { value: 1 } } },
      { name: 'reward', metrics: { mean: { value: 1 } } },
    ],
  });
});

test("a sample of Inspect has the calls of MCP tools as events, at the rollout's own time", () => {
  const made = rollout({
    ...{ startedMs: 1_700_000_000_000, endedMs: 1_700_000_002_000 },
    session: { ...samples.rollouts.full.session!, calls: [] },
  });
  const call = { ...samples.mcpCalls.full, sessionId: made.id, after: -1 };
  const failed = { ...call, number: 3, output: '{"error":{"code":1,"message":"disk is full"}}' };
  const records = { calls: [], mcpCalls: [failed, call, { ...call, number: 4, after: 5 }] };
  const of = { run: 'r', job: 'agent', version: '0', asked: 'explore-1' };
  const { events } = sampleOf(made, records, { score: 1, parts: {} }, of);
  expect(events).toMatchObject([
    {
      ...{ event: 'tool', type: 'function', id: 'mcp-2', function: 'read' },
      ...{ arguments: { path: 'a.txt' }, result: '🌊', working_start: 0.00025 },
      ...{ metadata: { server: 'files', after_call: -1, from_record: true } },
    },
    { id: 'mcp-3', result: '', error: { type: 'unknown', message: 'disk is full' } },
  ]);
});
