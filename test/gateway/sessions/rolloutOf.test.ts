import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Message } from '../../../gateway/conversation.ts';
import { contextOf } from '../../../gateway/sessions/callTree.ts';
import type { PolicyChat } from '../../../gateway/sessions/policyChat.ts';
import { rolloutOf } from '../../../gateway/sessions/rolloutOf.ts';
import { sequencesIn } from '../../../sinks/trainer/rolloutBatch.ts';
import { ask, asking, calling, hermesChat, scripted } from '../../support/chatSession.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { question } from '../../support/records.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
let chat: PolicyChat;
beforeAll(async () => {
  chat = await hermesChat(folder.path);
});

const user = (content: string): Message => ({ role: 'user', content });

test('a session with a sub-agent and a fork trains on every answer once, in its own context', async () => {
  const { session } = scripted(chat, ({ context }) =>
    context.includes('tool_response')
      ? `The answer is ${context.length}.<|im_end|>`
      : calling('weather', '{"city": "Ulm"}'),
  );
  const turn = await ask(session, asking([user('Ulm?')]));
  const answered = (content: string): Message[] => [
    user('Ulm?'),
    turn,
    { role: 'tool', callId: turn.calls[0]!.id, content },
  ];
  await ask(session, asking(answered('7')));
  await ask(session, asking([user('A sub-agent asks')]));
  await ask(session, asking(answered('eight')));
  const rollout = rolloutOf({
    ...{ question: question(), index: 0, groupSize: 1, seed: 1, calls: session.calls },
    ...{ stop: null, reward: null, version: 0, markers: [], startedMs: 0, endedMs: 9 },
    end: { failure: '', exitCode: 0, output: 'ok' },
  });

  const sequences = sequencesIn(rollout, new Float32Array(rollout.tokens.length).fill(1));
  const [first, second, sub, fork] = session.calls;
  expect(sequences.map(({ tokens }) => [...tokens])).toEqual(
    [second, fork, sub].map((leaf) => [...contextOf(leaf!)]),
  );
  const trained = sequences.map(({ mask }) => mask.reduce((sum, bit) => sum + bit, 0));
  const lengths = [first, second, fork, sub].map((call) => call!.tokens.length);
  expect(trained).toEqual([lengths[0]! + lengths[1]!, lengths[2], lengths[3]]);
  const [own] = sequences;
  expect([...own!.tokens].filter((_, i) => own!.mask[i] === 1)).toEqual([
    ...first!.tokens,
    ...second!.tokens,
  ]);

  expect(rollout).toMatchObject({ status: 'done', finish: 'answer', toolCalls: 2 });
  expect(rollout.session!.calls.map(({ call }) => call)).toEqual([0, 1, 3, 2]);
  for (const { call, start, end } of rollout.session!.calls) {
    expect([...rollout.tokens.subarray(start, end)]).toEqual([...session.calls[call]!.tokens]);
  }
  expect(rollout.text).toMatch(
    /^<weather>\{"city":"Ulm"\}<\/weather><result>7<\/result>\nThe answer is \d+\./,
  );
});

test.each([
  ['a box', 'So \\boxed{12}.', 'math', '12'],
  ['what is said to be the answer', 'I add. **The answer is: 1,024.**', 'math', '1024'],
  ['the last number of a calculation', '3 and 4 make 7', 'math', '7'],
  ['the whole text of anything else', 'Ulm', 'qa', 'Ulm'],
] as const)('the answer is %s', async (_name, content, ability, expected) => {
  const { session } = scripted(chat, () => `${content}<|im_end|>`);
  await ask(session, asking([user('?')]));
  const { text } = rolloutOf({
    ...{ question: question({ ability }), index: 0, groupSize: 1, seed: 1, calls: session.calls },
    ...{ stop: null, reward: null, version: 0, markers: [], startedMs: 0, endedMs: 9 },
    end: { failure: '', exitCode: 0, output: '' },
  });
  expect(text.endsWith(`<answer>\\boxed{${expected}}</answer>`)).toBe(true);
});
