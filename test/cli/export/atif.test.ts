import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { atifOf } from '../../../cli/export/atif.ts';
import type { Message } from '../../../gateway/conversation.ts';
import { contextOf } from '../../../gateway/sessions/callTree.ts';
import type { PolicyChat } from '../../../gateway/sessions/policyChat.ts';
import { recordOf } from '../../../gateway/sessions/records.ts';
import { rolloutOf } from '../../../gateway/sessions/rolloutOf.ts';
import { ask, asking, calling, hermesChat, scripted } from '../../support/chatSession.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { question, rollout, samples } from '../../support/records.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
let chat: PolicyChat;
beforeAll(async () => {
  chat = await hermesChat(folder.path);
});
const from = { run: 'first', job: 'agent', version: '1.0.0' };
const user = (content: string): Message => ({ role: 'user', content });

test("an agent's session: results stand at the calls that they answer, tokens are those of each call", async () => {
  const { session } = scripted(chat, ({ context }) =>
    context.includes('tool_response')
      ? 'Seven degrees.<|im_end|>'
      : calling('weather', '{"city": "Ulm"}'),
  );
  const turn = await ask(session, asking([user('Ulm?')]));
  const id = turn.calls[0]!.id;
  const answered = (content: string): Message[] => [
    ...[user('Ulm?'), turn],
    { role: 'tool', callId: id, content },
  ];
  await ask(session, asking(answered('7')));
  await ask(session, asking(answered('eight')));
  const made = rolloutOf({
    ...{ question: question(), index: 0, groupSize: 1, seed: 1, calls: session.calls },
    ...{ stop: null, reward: null, version: 0, markers: [], startedMs: 0, endedMs: 9 },
    end: { failure: '', exitCode: 0, output: 'ok' },
  });
  const owner = {
    sessionId: made.id,
    questionId: 'q1',
    protocol: 'chat',
    digest: '',
    stop: [],
    sampledBy: made.id,
  };
  const records = session.calls.map((node) => recordOf(node, owner));
  const mcpCalls = [
    { ...samples.mcpCalls.full, sessionId: made.id, number: 0, after: 0, ranFor: made.id },
    { ...samples.mcpCalls.full, sessionId: made.id, number: 1, after: 9 },
    {
      ...{ ...samples.mcpCalls.full, sessionId: made.id, number: 2, after: 0, tool: 'write' },
      output: '{"error":{"code":1,"message":"disk is full"}}',
    },
  ];
  const atif = atifOf(made, { calls: records, mcpCalls }, from) as {
    steps: Record<string, unknown>[];
  };
  expect(atif).toMatchObject({
    ...{ schema_version: 'ATIF-v1.7', session_id: 'first/q1/explore-0/0' },
    final_metrics: { total_steps: 6 },
    steps: [
      { step_id: 1, source: 'user', message: 'Ulm?' },
      {
        ...{ step_id: 2, source: 'agent' },
        tool_calls: [{ tool_call_id: id, function_name: 'weather', arguments: { city: 'Ulm' } }],
        observation: { results: [{ source_call_id: id, content: '7' }] },
      },
      {
        ...{ step_id: 3, source: 'agent', message: '', llm_call_count: 0 },
        tool_calls: [
          {
            ...{ tool_call_id: 'mcp-0', function_name: 'read', arguments: { path: 'a.txt' } },
            extra: { server: 'files', duration_ms: 900.25, from_record: false },
          },
          { tool_call_id: 'mcp-2', function_name: 'write', extra: { from_record: true } },
        ],
        observation: {
          results: [
            { source_call_id: 'mcp-0', content: '🌊' },
            { source_call_id: 'mcp-2', content: 'disk is full', extra: { is_error: true } },
          ],
        },
      },
      { step_id: 4, source: 'agent', message: 'Seven degrees.', extra: { call: 1, parent: 0 } },
      { step_id: 5, source: 'user', message: 'eight', extra: { tool_call_id: id } },
      { step_id: 6, source: 'agent', extra: { call: 2, parent: 0 } },
    ],
  });
  const metrics = atif.steps.flatMap(({ metrics: one }) => (one === undefined ? [] : [one]));
  expect(metrics).toMatchObject(
    session.calls.map((node) => ({
      completion_token_ids: [...node.tokens],
      logprobs: [...node.logProbs],
      prompt_token_ids: [...contextOf(node)].slice(0, -node.tokens.length),
    })),
  );
  expect(() => atifOf(made, { calls: records.slice(1), mcpCalls: [] }, from)).toThrow(
    'has no call 0',
  );
});

test('a rollout of ours: steps between results, with the tokens that the policy wrote', () => {
  const part = (kind: 'policy' | 'tool', start: number, end: number) => ({
    ...{ kind, start, end, version: 1, entropy: null, tool: null },
  });
  const own = rollout({
    text: '<search>Ulm</search><result>On the Danube</result><answer>Ulm</answer>',
    ...{ prompt: Int32Array.of(1, 2), tokens: Int32Array.of(3, 4, 5, 6) },
    logProbs: Float32Array.of(-0.5, -0.25, 0, -1),
    segments: [
      part('policy', 0, 1),
      part('policy', 1, 2),
      part('tool', 2, 3),
      part('policy', 3, 4),
    ],
  });
  expect(atifOf(own, { calls: [], mcpCalls: [] }, from).steps).toEqual([
    { step_id: 1, source: 'user', message: 'How many?' },
    {
      ...{ step_id: 2, source: 'agent', message: '<search>Ulm</search>', llm_call_count: 1 },
      observation: { results: [{ content: 'On the Danube' }] },
      metrics: {
        ...{ prompt_tokens: 2, completion_tokens: 2, prompt_token_ids: [1, 2] },
        ...{ completion_token_ids: [3, 4], logprobs: [-0.5, -0.25] },
      },
    },
    {
      ...{ step_id: 3, source: 'agent', message: '<answer>Ulm</answer>', llm_call_count: 1 },
      metrics: {
        ...{ prompt_tokens: 5, completion_tokens: 1, prompt_token_ids: [1, 2, 3, 4, 5] },
        ...{ completion_token_ids: [6], logprobs: [-1] },
      },
    },
  ]);
  const other = rollout({ ...own, text: 'no result' });
  expect(JSON.stringify(atifOf(other, { calls: [], mcpCalls: [] }, from))).not.toContain(
    'token_ids',
  );
});
