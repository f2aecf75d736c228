import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AssistantMessage, Message } from '../../../gateway/conversation.ts';
import { contextOf } from '../../../gateway/sessions/callTree.ts';
import type { PolicyChat } from '../../../gateway/sessions/policyChat.ts';
import { ask, asking, calling, digestOf, hermesChat, scripted } from '../../support/chatSession.ts';
import { temporaryFolder } from '../../support/folder.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
let chat: PolicyChat;
beforeAll(async () => {
  chat = await hermesChat(folder.path);
});

const user: Message = { role: 'user', content: 'What is the weather in Ulm?' };
/** Looks Ulm up, in arguments that nobody would write twice, and then answers. */
const script = ({ context }: { readonly context: string }): string =>
  context.includes('tool_response')
    ? 'It is 7 degrees.<|im_end|>'
    : `<think>\nI look.\n</think>\n\n${calling('weather', '{"city":  "Ulm"}')}`;

/** As most SDKs send it back: arguments written anew, no reasoning. */
function sentBack({ calls, ...message }: AssistantMessage): AssistantMessage {
  const written = calls.map((call) => ({
    ...call,
    arguments: JSON.stringify(JSON.parse(call.arguments)),
  }));
  return { ...message, reasoning: null, calls: written };
}

const result = (turn: AssistantMessage, content = '7'): Message => ({
  role: 'tool',
  callId: turn.calls[0]!.id,
  content,
});

describe('a call', () => {
  test('is read as reasoning, content and calls, and says what it cost', async () => {
    const { session } = scripted(chat, script);
    const call = asking([user]);
    const reply = await session.call(call, digestOf(call), new AbortController().signal);
    expect(reply.message).toEqual({
      role: 'assistant',
      content: '',
      reasoning: 'I look.',
      calls: [{ id: `call_${reply.id}_0`, name: 'weather', arguments: '{"city":"Ulm"}' }],
    });
    expect(reply.finish).toBe('calls');
    expect(reply.promptTokens).toBe(session.count(call));
  });

  test('goes on from the tokens of an earlier one, whatever the agent made of them', async () => {
    const { session, engine } = scripted(chat, script);
    const turn = await ask(session, asking([user]));
    const said = await ask(session, asking([user, sentBack(turn), result(turn)]));
    expect(said.content).toBe('It is 7 degrees.');
    const [first, second] = session.calls;
    expect(second).toMatchObject({ join: 'continued', difference: '' });
    const before = [...contextOf(first!)];
    expect([...engine.requests[1]!.tokens].slice(0, before.length)).toEqual(before);
    expect(chat.tokenizer.decode(second!.prompt)).toBe(
      '\n<|im_start|>user\n<tool_response>\n7\n</tool_response><|im_end|>\n<|im_start|>assistant\n',
    );
  });

  test('stands by itself if the agent changed its past, and says what was changed', async () => {
    const { session } = scripted(chat, script);
    const turn = await ask(session, asking([user]));
    const changed = { ...turn, calls: [{ ...turn.calls[0]!, arguments: '{"city":"Bonn"}' }] };
    await ask(session, asking([user, changed, result(turn)]));
    expect(session.calls[1]).toMatchObject({
      join: 'separate',
      parent: null,
      difference: 'messages[1].calls[0].arguments.city is "Bonn", was "Ulm"',
    });
  });

  test('goes on from the last turn that came back as it was, and says what became of a later one', async () => {
    const two = `${calling('weather', '{"city":"Ulm"}').replace('<|im_end|>', '\n')}${calling('weather', '{"city":"Bonn"}')}`;
    const { session } = scripted(chat, ({ context }) =>
      context.includes('tool_response') ? two : script({ context }),
    );
    const first = await ask(session, asking([user]));
    const begun = [user, first, result(first)];
    const second = await ask(session, asking(begun));
    // Streams of multi-llm-ts 5.1: parallel calls become turns of their own.
    const apart = second.calls.flatMap((call): Message[] => [
      { ...second, calls: [call] },
      { role: 'tool', callId: call.id, content: '7' },
    ]);
    await ask(session, asking([...begun, ...apart]));
    expect(session.calls[2]).toMatchObject({
      join: 'continued',
      parent: session.calls[0],
      difference: 'messages[3].calls has 1 items, had 2',
    });
  });

  test('is merged if the past, written anew, comes to the same tokens', async () => {
    const { session } = scripted(chat, () => 'Yes.<|im_end|>');
    const first: Message = { role: 'user', content: 'One' };
    const turn = await ask(session, asking([first], { tools: [] }));
    const asUser = { ...turn, calls: [], reasoning: '' };
    await ask(session, asking([first, asUser, user], { tools: [] }));
    expect(session.calls[1]!.join).toBe('continued');
    // The second's past is one message less, so only its tokens tell.
    const split = [
      first,
      { ...turn, content: 'Yes.<|im_end|>\n<|im_start|>user\nWhat is the weather in Ulm?' },
      { role: 'user', content: 'Again' },
    ] as const;
    await ask(session, asking(split, { tools: [] }));
    expect(session.calls[2]).toMatchObject({ join: 'merged', parent: session.calls[0] });
  });

  test('begins a conversation of its own for a sub-agent', async () => {
    const { session } = scripted(chat, script);
    await ask(session, asking([user]));
    await ask(session, asking([{ role: 'user', content: 'Another matter' }]));
    expect(session.calls.map(({ join }) => join)).toEqual(['first', 'first']);
  });

  test('with calls that cannot be read leaves them in the text', async () => {
    const { session } = scripted(chat, () => calling('weather', '{"city"'));
    const turn = await ask(session, asking([user]));
    expect(turn.calls).toEqual([]);
    expect(turn.content).toContain('<tool_call>');
  });

  test('makes no calls where the agent wants none', async () => {
    const { session } = scripted(chat, script);
    const turn = await ask(session, asking([user], { toolChoice: 'none' }));
    expect(turn.calls).toEqual([]);
    expect(turn.content).toContain('<tool_call>');
    await ask(session, asking([user, sentBack(turn), user]));
    expect(session.calls[1]).toMatchObject({ join: 'continued', parent: session.calls[0] });
  });

  test('ends before a stop text, which stays among the tokens', async () => {
    const { session, records } = scripted(chat, () => 'one STOP two<|im_end|>');
    const turn = await ask(session, asking([user], { stop: ['STOP'] }));
    expect(turn.content).toBe('one ');
    expect(chat.tokenizer.decode(records[0]!.tokens)).toBe('one STOP');
  });
});

describe('a session', () => {
  test('says which of the agent’s texts ended it, in the record too', async () => {
    const { session, records } = scripted(chat, () => 'It is 7 END of it<|im_end|>');
    const call = asking([user], { tools: [], stop: ['END'] });
    const reply = await session.call(call, digestOf(call), new AbortController().signal);
    expect(reply).toMatchObject({ finish: 'stop', stoppedBy: 'END' });
    expect(records[0]).toMatchObject({ stop: ['END'], stoppedBy: 'END' });
    expect((await ask(session, asking([user], { tools: [] }))).content).toContain('END of it');
    expect(records[1]).toMatchObject({ stop: [], stoppedBy: null });
  });

  test('makes one call where the agent wants no more, and goes on from there', async () => {
    const both = `${calling('weather', '{"city": "Ulm"}')}`.replace('<|im_end|>', '\n');
    const twice = ({ context }: { readonly context: string }): string =>
      context.includes('tool_response') ? script({ context }) : `${both}${both}<|im_end|>`;
    const { session, engine, records } = scripted(chat, twice);
    const turn = await ask(session, asking([user], { parallel: false }));
    expect(turn.calls).toHaveLength(1);
    expect(records[0]?.stop).toEqual(['</tool_call>']);
    expect(chat.tokenizer.decode(records[0]!.tokens)).toMatch(/<\/tool_call>$/);
    await ask(session, asking([user, turn, result(turn)], { parallel: false }));
    expect(session.calls[1]).toMatchObject({ join: 'continued' });
    expect(chat.tokenizer.decode(engine.requests[1]!.tokens)).toContain(
      '</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>',
    );
    expect((await ask(session, asking([user]))).calls).toHaveLength(2);
  });

  test('shows the policy that a function failed', async () => {
    const { session, engine, records } = scripted(chat, script);
    const turn = await ask(session, asking([user]));
    const failed = { ...result(turn, 'no such city'), isError: true } as Message;
    await ask(session, asking([user, turn, failed]));
    expect(chat.tokenizer.decode(engine.requests[1]!.tokens)).toContain('Error: no such city');
    expect(records[1]?.messages).toContain('"isError":true');
  });

  test('gives the same request the same answer, and samples once', async () => {
    const { session, engine } = scripted(chat, script);
    const both = await Promise.all([ask(session, asking([user])), ask(session, asking([user]))]);
    expect(both[0]).toEqual(both[1]);
    expect(await ask(session, asking([user]))).toEqual(both[0]);
    expect(engine.requests).toHaveLength(1);
    expect(session.repeated).toBe(2);
  });

  test('answers only once the call is committed', async () => {
    const order: string[] = [];
    let commit = (): void => undefined;
    const committed = new Promise<void>((resolve) => {
      commit = resolve;
    });
    const { session } = scripted(chat, script, {
      commit: async () => {
        order.push('asked to commit');
        await committed;
        order.push('committed');
      },
    });
    const answer = ask(session, asking([user])).then(() => order.push('answered'));
    await new Promise(setImmediate);
    expect(order).toEqual(['asked to commit']);
    commit();
    await answer;
    expect(order).toEqual(['asked to commit', 'committed', 'answered']);
  });

  test('does not answer what could not be committed, and may be asked again', async () => {
    let fails = true;
    const { session, engine } = scripted(chat, script, {
      commit: async () => {
        if (fails) throw new Error('disk full');
      },
    });
    await expect(ask(session, asking([user]))).rejects.toThrow('disk full');
    fails = false;
    await ask(session, asking([user]));
    expect(engine.requests).toHaveLength(2);
    expect(session.calls).toHaveLength(1);
  });

  test('that is run again answers from the record as long as requests are the same', async () => {
    const before = scripted(chat, script);
    const turn = await ask(before.session, asking([user]));
    await ask(before.session, asking([user, sentBack(turn), result(turn)]));
    const past = before.records;

    const same = scripted(chat, script, { past });
    expect(await ask(same.session, asking([user]))).toEqual(turn);
    await ask(same.session, asking([user, sentBack(turn), result(turn)]));
    expect([same.engine.requests.length, same.records.length]).toEqual([0, 0]);
    expect(same.session.calls.map(({ tokens }) => [...tokens])).toEqual(
      before.session.calls.map(({ tokens }) => [...tokens]),
    );

    const other = scripted(chat, script, { past });
    await ask(other.session, asking([user]));
    await ask(other.session, asking([user, sentBack(turn), result(turn, '8')]));
    expect([other.engine.requests.length, other.records.map(({ call }) => call)]).toEqual([1, [2]]);
  });

  test('that is a fork has the calls of the other in its own name', async () => {
    const before = scripted(chat, script);
    const turn = await ask(before.session, asking([user]));
    const past = before.records;
    const fork = scripted(chat, script, {
      past,
      id: 'q1/explore-0/1',
      draws: [1, 'q1', 'explore', 0, 1],
    });
    await ask(fork.session, asking([user]));
    await ask(fork.session, asking([user, sentBack(turn), result(turn)]));
    expect(fork.engine.requests).toHaveLength(1);
    expect(fork.records.map(({ sessionId, call }) => `${sessionId} ${call}`)).toEqual([
      'q1/explore-0/1 0',
      'q1/explore-0/1 1',
    ]);
  });

  test('refuses more calls than it may make, and says so', async () => {
    const limits = { calls: 1, answerTokens: 400 };
    const { session } = scripted(chat, script, { limits });
    await ask(session, asking([user]));
    await expect(ask(session, asking([{ role: 'user', content: 'More' }]))).rejects.toMatchObject({
      kind: 'limit',
      message: 'this session may make at most 1 model calls (agent.calls)',
    });
    expect(session.stop).toBe('calls');
  });

  test('refuses megabytes at once, as too long for the context', async () => {
    // Making tokens of so many spaces takes a minute.
    const long = { ...user, content: ' '.repeat(3_000_000) };
    const { session } = scripted(chat, script);
    const refused = { kind: 'context', message: expect.stringContaining('3000') };
    await expect(ask(session, asking([long]))).rejects.toMatchObject(refused);
    expect(session.stop).toBe('context');
    expect(() => session.count(asking([long]))).toThrow('too many for the model’s context');
  });

  test.each([
    ['thoughts', { reasoning: ' '.repeat(3_000_000) }],
    ['arguments', { calls: [{ id: 'a', name: 'f', arguments: ' '.repeat(3_000_000) }] }],
  ])('refuses megabytes of %s at once, too', (_, turn) => {
    const long = { role: 'assistant', content: '', reasoning: null, calls: [], ...turn } as const;
    const { session } = scripted(chat, script);
    expect(() => session.count(asking([user, long]))).toThrow('too many for the model’s context');
  });

  test('refuses a conversation that does not fit the context', async () => {
    const { session } = scripted(chat, script, { contextMax: 20 });
    await expect(ask(session, asking([user]))).rejects.toMatchObject({ kind: 'context' });
    expect(session.stop).toBe('context');
  });

  test('refuses everything after its end, a call under way too', async () => {
    const { session } = scripted(chat, script);
    const waiting = scripted(chat, script, {
      engine: {
        ...scripted(chat, script).engine,
        contextMax: 4096,
        generate: (_request, signal) =>
          new Promise((_, reject) => {
            signal!.addEventListener('abort', () => reject(signal!.reason as Error));
          }),
      },
    });
    const open = ask(waiting.session, asking([user]));
    const refused = expect(open).rejects.toMatchObject({ kind: 'ended' });
    await new Promise(setImmediate);
    await waiting.session.end();
    await refused;
    await session.end();
    await expect(ask(session, asking([user]))).rejects.toMatchObject({ kind: 'ended' });
    await expect(session.reward(1, '')).rejects.toMatchObject({ kind: 'ended' });
  });

  test('names what is wrong with the policy behind it, until it answers again', async () => {
    let down = true;
    const { session } = scripted(chat, (line) => {
      if (down) throw new Error('the server is down');
      return script(line);
    });
    await expect(ask(session, asking([user]))).rejects.toMatchObject({ kind: 'unavailable' });
    expect(session.failure).toBe('the server is down');
    down = false;
    await ask(session, asking([user]));
    expect(session.failure).toBe('');
  });
});
