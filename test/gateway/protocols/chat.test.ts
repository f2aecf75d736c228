import { describe, expect, test } from '@jest/globals';
import { GatewayRefusal } from '../../../gateway/conversation.ts';
import { chat } from '../../../gateway/protocols/chat.ts';
import { replyOf, said } from '../../support/scriptedSessions.ts';
import { eventsIn, refusedBy } from './support.ts';

const MINIMAL = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
const CALL = { id: 'functions.f:0', name: 'f', arguments: '{"city": "Z\\u00fcrich",  "n":1.0}' };
const read = (fields: object) => chat.read({ ...MINIMAL, ...fields }, new Map());
const messages = (...list: unknown[]) => read({ messages: list }).call.messages;

describe('a chat completion is read', () => {
  test('with what an agent says of it', () => {
    const { call, stream } = read({
      tools: [{ type: 'function', function: { name: 'f', description: 'd', strict: true } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      max_tokens: 9,
      stop: 'END',
      stream: true,
      temperature: 0.1,
      unheard_of: { a: 1 },
    });
    expect(stream).toBe(true);
    expect(call).toEqual({
      protocol: 'chat',
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ name: 'f', description: 'd', parameters: { type: 'object', properties: {} } }],
      toolChoice: { name: 'f' },
      maxTokens: 9,
      stop: ['END'],
    });
  });

  test('with defaults, and null where nothing is said', () => {
    const nothing = {
      tools: null,
      tool_choice: null,
      stop: null,
      stream: null,
      stream_options: null,
      n: 1,
    };
    expect(read(nothing)).toMatchObject({
      stream: false,
      call: { tools: [], toolChoice: 'auto', maxTokens: null, stop: [] },
    });
  });

  test('with the newer limit of tokens before the older', () => {
    const { call } = read({ max_completion_tokens: 5, max_tokens: 9, stop: ['a', 'b'] });
    expect([call.maxTokens, call.stop]).toEqual([5, ['a', 'b']]);
  });

  test('with turns as agents write them anew', () => {
    const tool_calls = [
      {
        id: CALL.id,
        type: 'function',
        index: 0,
        function: { name: 'f', arguments: CALL.arguments, parsed_arguments: {} },
      },
    ];
    const ours = { role: 'assistant', content: '', reasoning: null, calls: [CALL] };
    expect(
      messages(
        {
          role: 'developer',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'user', name: 'n', content: [{ type: 'text', text: 'u', cache_control: {} }] },
        {
          role: 'assistant',
          content: null,
          tool_calls,
          refusal: null,
          function_call: null,
          parsed: null,
        },
        { role: 'assistant', tool_calls, annotations: [], audio: null, name: 'model' },
        { role: 'assistant', content: [], tool_calls, provider_specific_fields: {} },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: ' a', tool_calls: [] },
            { type: 'text', text: 'b\n' },
          ],
          reasoning_content: 'r',
        },
        { role: 'assistant', content: '', reasoning: 'r', tool_calls: null },
        { role: 'tool', tool_call_id: CALL.id, name: 'f', content: [{ type: 'text', text: '21' }] },
        { role: 'tool', tool_call_id: CALL.id, content: null },
      ),
    ).toEqual([
      { role: 'system', content: 'a\nb' },
      { role: 'user', content: 'u' },
      ours,
      ours,
      ours,
      { role: 'assistant', content: ' ab\n', reasoning: 'r', calls: [] },
      { role: 'assistant', content: '', reasoning: 'r', calls: [] },
      { role: 'tool', callId: CALL.id, content: '21' },
      { role: 'tool', callId: CALL.id, content: '' },
    ]);
  });
});

describe('a chat completion is refused, with the place,', () => {
  test.each<[object | null, string, string]>([
    [null, '', 'the body is null; it must be an object'],
    [{ model: undefined }, 'model', 'model is missing; it must be text'],
    [{ messages: [] }, 'messages', 'messages is empty'],
    [{ messages: 'hi' }, 'messages', 'messages is text; it must be a list'],
    [
      { messages: [{ role: 'user' }] },
      'messages[0].content',
      'is missing; it must be text or a list of parts',
    ],
    [
      { messages: [{ role: 'king', content: '' }] },
      'messages[0].role',
      'is king; it must be system',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
      'messages[0].content[0]',
      'is image_url: the policy reads only text',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'messages[0].content[0].text',
      'is missing',
    ],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id', 'is missing'],
    [
      {
        messages: [
          { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }] },
        ],
      },
      'messages[0].tool_calls[0].function.arguments',
      'is an object; it must be text',
    ],
    [
      { messages: [{ role: 'assistant', function_call: { name: 'f' } }] },
      'messages[0].function_call',
      'send tool_calls',
    ],
    [{ n: 2 }, 'n', 'asks for several answers'],
    [{ max_tokens: 0 }, 'max_tokens', 'is 0; it must be a whole number, 1 or more'],
    [{ max_tokens: 'a' }, 'max_tokens', 'is text'],
    [{ stop: [1] }, 'stop[0]', 'is a number; it must be text'],
    [{ stream: 'yes' }, 'stream', 'is text; it must be true or false'],
    [{ functions: [] }, 'functions', 'send tools'],
    [{ logprobs: true }, 'logprobs', 'log-probabilities'],
    [{ modalities: ['text', 'audio'] }, 'modalities', 'an answer other than text'],
    [
      { response_format: { type: 'json_schema' } },
      'response_format',
      'answers of type json_schema',
    ],
    [{ tools: [{ type: 'custom', custom: {} }] }, 'tools[0]', 'a tool of type custom'],
    [{ tools: [TOOL, TOOL] }, 'tools[1].name', 'which another tool has too'],
    [{ tool_choice: 'required' }, 'tool_choice', 'there are no tools'],
    [
      { tools: [TOOL], tool_choice: { type: 'function', function: { name: 'g' } } },
      'tool_choice',
      'names g, which is not among the tools',
    ],
    [
      { tools: [TOOL], tool_choice: { type: 'allowed_tools' } },
      'tool_choice',
      'asks for allowed_tools',
    ],
  ])('%j', (fields, at, words) => {
    const refusal = refusedBy(() => (fields === null ? chat.read(null, new Map()) : read(fields)));
    expect(refusal.kind).toBe('invalid');
    expect(refusal.at).toBe(at);
    expect(refusal.message).toContain(words);
  });

  test.each([
    [{ type: 'array' }, '.type'],
    [{ type: 'thing' }, '.type'],
    [{ properties: [] }, '.properties'],
    [{ properties: { a: 'text' } }, '.properties.a'],
    [{ properties: { a: { items: { anyOf: [3] } } } }, '.properties.a.items.anyOf[0]'],
    [{ required: 'a' }, '.required'],
    ['text', ''],
  ])('a tool whose schema is %j', (parameters, at) => {
    const refusal = refusedBy(() =>
      read({ tools: [{ type: 'function', function: { name: 'f', parameters } }] }),
    );
    expect(refusal.at).toBe(`tools[0].function.parameters${at}`);
  });

  test('a tool whose schema is nested without end', () => {
    let parameters: object = {};
    for (let i = 0; i < 10_000; i += 1) parameters = { default: parameters };
    const refusal = refusedBy(() =>
      read({ tools: [{ type: 'function', function: { name: 'f', parameters } }] }),
    );
    expect(refusal.message).toContain('nested deeper than');
  });
});

describe('an answer as a chat completion', () => {
  test('has what clients read', () => {
    const reply = replyOf('r-0', said('\n Let me look.  ', 'hm', CALL));
    expect(read({}).answer(reply)).toEqual({
      id: 'chatcmpl-r-0',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'm',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: '\n Let me look.  ',
            refusal: null,
            reasoning_content: 'hm',
            tool_calls: [
              { id: CALL.id, type: 'function', function: { name: 'f', arguments: CALL.arguments } },
            ],
          },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    });
  });

  test.each([
    [said('', null, CALL), null, 'tool_calls'],
    [said(''), '', 'stop'],
  ])('%j has the content %j', (message, content, finish_reason) => {
    const answer = read({}).answer(replyOf('r', message));
    expect(answer).toMatchObject({ choices: [{ message: { content }, finish_reason }] });
  });

  test.each(['', 'not JSON', '[1]', '3'])('has an object where arguments are %j', (text) => {
    const answer = read({}).answer(replyOf('r', said('', null, { ...CALL, arguments: text })));
    const tool_calls = [{ function: { arguments: '{}' } }];
    expect(answer).toMatchObject({ choices: [{ message: { tool_calls } }] });
  });

  test('in a stream has a role first, one piece of a kind, and a reason at the end', () => {
    const other = { ...CALL, id: 'b' };
    const reply = replyOf('r', said('text', 'hm', CALL, other));
    const { events, done } = eventsIn(read({ stream: true }).events(reply));
    expect(done).toBe(true);
    const choices = events.map(({ data }) => (data.choices as { delta: object }[])[0]!);
    expect(choices.map(({ delta }) => delta)).toEqual([
      { role: 'assistant', content: null },
      { reasoning_content: 'hm' },
      { content: 'text' },
      ...[CALL, other].map(({ id }, index) => ({
        tool_calls: [
          { index, id, type: 'function', function: { name: 'f', arguments: CALL.arguments } },
        ],
      })),
      {},
    ]);
    expect(choices.at(-1)).toMatchObject({ index: 0, finish_reason: 'tool_calls' });
    expect(events.every(({ data }) => data.object === 'chat.completion.chunk')).toBe(true);
    expect(events.some(({ data }) => 'usage' in data)).toBe(false);
  });

  test('in a stream has the usage where it is asked for', () => {
    const asked = read({ stream: true, stream_options: { include_usage: true } });
    const { events } = eventsIn(asked.events(replyOf('r', said('a'), 'length')));
    expect(events.at(-1)!.data).toMatchObject({ choices: [], usage: { total_tokens: 18 } });
    expect(events.at(-2)!.data).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: null,
    });
  });
});

describe('a refusal as a chat completion', () => {
  test.each([
    ['invalid', 400, { 'x-should-retry': 'false' }],
    ['key', 404, { 'x-should-retry': 'false' }],
    ['ended', 404, { 'x-should-retry': 'false' }],
    ['limit', 404, { 'x-should-retry': 'false' }],
    ['context', 400, { 'x-should-retry': 'false' }],
    ['size', 413, { 'x-should-retry': 'false' }],
    ['unavailable', 429, { 'retry-after': '5' }],
    ['failed', 500, {}],
  ] as const)('for %s has the status %i', (kind, status, headers) => {
    const failed = chat.failed(new GatewayRefusal(kind, 'why', 'n'));
    expect(failed).toMatchObject({
      status,
      headers,
      body: { error: { message: 'why', param: 'n' } },
    });
    expect(Object.keys(failed.headers)).toEqual(Object.keys(headers));
  });

  test('in a stream is an error', () => {
    const { events } = eventsIn(chat.failedEvents(new GatewayRefusal('context', 'why')));
    expect(events[0]!.data).toMatchObject({
      error: { message: 'why', code: 'context_length_exceeded', param: null },
    });
  });
});
