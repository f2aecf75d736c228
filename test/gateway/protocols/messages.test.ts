import { describe, expect, test } from '@jest/globals';
import { GatewayRefusal } from '../../../gateway/conversation.ts';
import { messages } from '../../../gateway/protocols/messages.ts';
import { replyOf, said } from '../../support/scriptedSessions.ts';
import { eventsIn, refusedBy } from './support.ts';

const MINIMAL = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
const TOOL = { name: 'f', input_schema: { type: 'object' } };
const CALL = { id: 'toolu_1', name: 'f', arguments: '{ "n": 2.50, "city":"Bern"}' };
const read = (fields: object) => messages.read({ ...MINIMAL, ...fields }, new Map());

describe('a message is read', () => {
  test('with what an agent says of it', () => {
    const { call, stream } = read({
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2; cch=81;' },
        { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'b' },
      ],
      tools: [{ ...TOOL, type: 'custom', description: 'd', cache_control: {} }],
      tool_choice: { type: 'any' },
      stop_sequences: ['END'],
      stream: true,
      thinking: { type: 'adaptive' },
      metadata: { user_id: '{}' },
      context_management: {},
    });
    expect(stream).toBe(true);
    expect(call).toEqual({
      protocol: 'messages',
      model: 'm',
      messages: [
        { role: 'system', content: 'a\nb' },
        { role: 'user', content: 'hi' },
      ],
      tools: [{ name: 'f', description: 'd', parameters: { type: 'object' } }],
      toolChoice: 'required',
      maxTokens: 9,
      stop: ['END'],
    });
  });

  test.each([
    [undefined, 'auto'],
    [{ type: 'auto', disable_parallel_tool_use: true }, 'auto'],
    [{ type: 'none' }, 'none'],
    [{ type: 'tool', name: 'f' }, { name: 'f' }],
  ])('with the choice %j', (tool_choice, toolChoice) => {
    const { call } = read({ tools: [TOOL], tool_choice });
    expect(call.toolChoice).toEqual(toolChoice);
    expect(call.parallel).toBe(
      toolChoice === 'auto' && tool_choice !== undefined ? false : undefined,
    );
  });

  test('with its blocks as turns, results and texts', () => {
    const list = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'system', content: [{ type: 'text', text: 'where' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'redacted_thinking', data: 'x' },
          { type: 'text', text: '\n Let me look.  ', citations: null },
          { type: 'tool_use', id: 'toolu_1', name: 'f', input: { city: 'Bern' } },
          { type: 'tool_use', id: 'toolu_2', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: '21', cache_control: {} },
          {
            type: 'tool_result',
            tool_use_id: 'toolu_2',
            content: [{ type: 'text', text: 'no' }],
            is_error: true,
          },
          { type: 'text', text: 'go on' },
        ],
      },
      { role: 'assistant', content: 'done' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_3' }] },
    ];
    const call = (id: string, text: string) => ({ id, name: 'f', arguments: text });
    expect(read({ messages: list }).call.messages).toEqual([
      { role: 'user', content: 'a\nb' },
      { role: 'system', content: 'where' },
      {
        role: 'assistant',
        content: '\n Let me look.  ',
        reasoning: 'hm',
        calls: [call('toolu_1', '{"city":"Bern"}'), call('toolu_2', '{}')],
      },
      { role: 'tool', callId: 'toolu_1', content: '21' },
      { role: 'tool', callId: 'toolu_2', content: 'no', isError: true },
      { role: 'user', content: 'go on' },
      { role: 'assistant', content: 'done', reasoning: null, calls: [] },
      { role: 'tool', callId: 'toolu_3', content: '' },
    ]);
  });
});

test('a turn that comes in several messages is one, as multi-llm-ts 5.1 sends it', () => {
  const said = (block: object) => ({ role: 'assistant', content: [block] });
  const { call } = read({
    messages: [
      ...MINIMAL.messages,
      said({ type: 'thinking', thinking: 'hm', signature: 'aA==' }),
      said({ type: 'text', text: 'look' }),
      said({ type: 'tool_use', id: 'a', name: 'f', input: {} }),
      said({ type: 'tool_use', id: 'b', name: 'f', input: {} }),
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'b', content: '7' }] },
    ],
  });
  const calls = ['a', 'b'].map((id) => ({ id, name: 'f', arguments: '{}' }));
  expect(call.messages).toEqual([
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'look', reasoning: 'hm', calls },
    { role: 'tool', callId: 'b', content: '7' },
  ]);
});

describe('a message is refused, with the place,', () => {
  const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
  test.each<[object, string, string]>([
    [{ model: 3 }, 'model', 'is a number'],
    [{ messages: [] }, 'messages', 'is empty'],
    [
      { messages: [{ role: 'tool', content: 'a' }] },
      'messages[0].role',
      'is tool; it must be user',
    ],
    [{ messages: [{ role: 'user', content: [] }] }, 'messages[0].content', 'is empty'],
    [{ messages: [{ role: 'assistant', content: '{' }] }, 'messages[0]', 'end with a user'],
    [
      user({ type: 'image', source: {} }),
      'messages[0].content[0]',
      'is image: the policy reads only text',
    ],
    [user({ type: 'document' }), 'messages[0].content[0]', 'is document'],
    [
      user({ type: 'tool_result', content: 'a' }),
      'messages[0].content[0].tool_use_id',
      'is missing',
    ],
    [
      user({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'image' }] }),
      'messages[0].content[0].content[0]',
      'is image',
    ],
    [
      {
        messages: [
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: 'x' }] },
        ],
      },
      'messages[0].content[0].input',
      'is text; it must be an object',
    ],
    [
      { messages: [{ role: 'assistant', content: [{ type: 'server_tool_use' }] }] },
      'messages[0].content[0]',
      'is server_tool_use',
    ],
    [
      { tools: [{ type: 'web_search_20250305', name: 'w' }] },
      'tools[0]',
      'of type web_search_20250305',
    ],
    [{ tools: [{ name: 'f', input_schema: 'x' }] }, 'tools[0].input_schema', 'is text'],
    [{ tool_choice: { type: 'all' } }, 'tool_choice.type', 'is all; it must be auto'],
    [{ system: [{ type: 'image' }] }, 'system[0]', 'is image'],
    [{ output_format: { type: 'json_schema' } }, 'output_format', 'of type json_schema'],
    [
      { output_config: { effort: 'low', format: { type: 'json_schema' } } },
      'output_config.format',
      'of type json_schema',
    ],
    [{ mcp_servers: [{ type: 'url' }] }, 'mcp_servers', 'tools that the server calls'],
  ])('%j', (fields, at, words) => {
    const refusal = refusedBy(() => read(fields));
    expect(refusal.at).toBe(at);
    expect(refusal.message).toContain(words);
  });

  test('a thread in the way that makes the SDK send all messages', () => {
    const refusal = refusedBy(() => read({ thread: { type: 'create' } }));
    expect(messages.failed(refusal)).toMatchObject({
      status: 400,
      body: {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
        },
      },
    });
  });
});

describe('an answer as a message', () => {
  test('has what clients read', () => {
    const reply = replyOf('r-0', said('\n Let me look.  ', 'hm', CALL));
    expect(read({}).answer(reply)).toEqual({
      id: 'msg_r-0',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'hm', signature: expect.stringMatching(/.+/) },
        { type: 'text', text: '\n Let me look.  ' },
        { type: 'tool_use', id: 'toolu_1', name: 'f', input: { n: 2.5, city: 'Bern' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 11,
        output_tokens: 7,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      },
    });
  });

  test.each([
    [said('a'), 'stop', 'end_turn', [{ type: 'text', text: 'a' }]],
    [said(''), 'length', 'max_tokens', [{ type: 'text', text: '' }]],
    [
      said('', null, { ...CALL, arguments: 'not JSON' }),
      'calls',
      'tool_use',
      [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }],
    ],
  ] as const)('%j ends with %s as %s', (message, finish, stop_reason, content) => {
    expect(read({}).answer(replyOf('r', message, finish))).toMatchObject({ stop_reason, content });
  });

  test('names the text that ended it', () => {
    const reply = { ...replyOf('r', said('a')), stoppedBy: 'END' };
    const ended = { stop_reason: 'stop_sequence', stop_sequence: 'END' };
    expect(read({}).answer(reply)).toMatchObject(ended);
    const { events } = eventsIn(read({}).events(reply));
    expect(events.at(-2)?.data).toMatchObject({ delta: ended });
  });

  test('in a stream has the events that SDKs need, each under its name', () => {
    const reply = replyOf('r', said('text', 'hm', CALL));
    const { events, done } = eventsIn(read({ stream: true }).events(reply));
    expect(done).toBe(false);
    expect(events.every(({ name, data }) => name === data.type)).toBe(true);
    expect(events.map(({ name }) => name)).toEqual([
      'message_start',
      ...[
        'content_block_start',
        'content_block_delta',
        'content_block_delta',
        'content_block_stop',
      ],
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
      'message_delta',
      'message_stop',
    ]);
    expect(events[0]!.data).toMatchObject({
      message: { id: 'msg_r', content: [], stop_reason: null, usage: { input_tokens: 11 } },
    });
    const deltas = events.filter(({ name }) => name === 'content_block_delta');
    expect(deltas.map(({ data }) => [data.index, data.delta])).toEqual([
      [0, { type: 'thinking_delta', thinking: 'hm' }],
      [0, { type: 'signature_delta', signature: expect.any(String) }],
      [1, { type: 'text_delta', text: 'text' }],
      [2, { type: 'input_json_delta', partial_json: CALL.arguments }],
    ]);
    expect(events.at(-2)!.data).toMatchObject({
      delta: { stop_reason: 'tool_use' },
      usage: { output_tokens: 7 },
    });
  });
});

describe('a refusal as a message', () => {
  test.each([
    ['invalid', 400, 'invalid_request_error', 'why'],
    ['key', 404, 'not_found_error', 'why'],
    ['ended', 404, 'not_found_error', 'why'],
    ['limit', 404, 'not_found_error', 'why'],
    ['context', 400, 'invalid_request_error', 'prompt is too long: why'],
    ['size', 413, 'request_too_large', 'why'],
    ['unavailable', 429, 'rate_limit_error', 'why'],
    ['failed', 500, 'api_error', 'why'],
  ] as const)('for %s has the status %i', (kind, status, type, message) => {
    const refusal = new GatewayRefusal(kind, 'why');
    const body = { type: 'error', error: { type, message } };
    expect(messages.failed(refusal)).toMatchObject({ status, body });
    expect(eventsIn(messages.failedEvents(refusal)).events).toEqual([
      { name: 'error', data: body },
    ]);
  });
});
