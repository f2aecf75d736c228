import { describe, expect, test } from '@jest/globals';
import { GatewayRefusal, type Message } from '../../../gateway/conversation.ts';
import { responses } from '../../../gateway/protocols/responses.ts';
import { replyOf, said } from '../../support/scriptedSessions.ts';
import { eventsIn, refusedBy } from './support.ts';

const MINIMAL = { model: 'm', input: 'hi' };
const TOOL = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true };
const CALL = { id: 'call_1', name: 'f', arguments: '{"city": "Z\\u00fcrich",  "n":1.0}' };
const OTHER = { id: 'call_2', name: 'f', arguments: '{}' };
type Memory = Map<string, unknown>;
const read = (fields: object, memory: Memory = new Map()) =>
  responses.read({ ...MINIMAL, ...fields }, memory);
const messages = (input: readonly unknown[], memory?: Memory): readonly Message[] =>
  read({ input }, memory).call.messages;
const USER = { role: 'user', content: 'hi' } as const;
const call = ({ id, ...rest }: typeof CALL, itemId?: string) => ({
  type: 'function_call',
  call_id: id,
  ...rest,
  ...(itemId === undefined ? {} : { id: itemId }),
});
const result = (call_id: string, output: unknown) => ({
  type: 'function_call_output',
  call_id,
  output,
});

/** A memory in which `r-0` was answered. */
function remembering(message = said('\n Let me look.  ', 'hm', CALL, OTHER)): Memory {
  const memory: Memory = new Map();
  read({}, memory).answer(replyOf('r-0', message));
  return memory;
}

describe('a response is read', () => {
  test('with what an agent says of it', () => {
    const { call, stream } = read({
      instructions: 's',
      tools: [TOOL],
      tool_choice: { type: 'function', name: 'f' },
      max_output_tokens: 9,
      stream: true,
      include: [],
      text: {},
      reasoning: { effort: 'low' },
      store: false,
      truncation: 'auto',
    });
    expect(stream).toBe(true);
    expect(call).toEqual({
      protocol: 'responses',
      model: 'm',
      messages: [{ role: 'system', content: 's' }, USER],
      tools: [{ name: 'f', description: '', parameters: { type: 'object' } }],
      toolChoice: { name: 'f' },
      maxTokens: 9,
      stop: [],
    });
  });

  test('with a turn of several items', () => {
    expect(
      messages([
        { role: 'developer', content: 'd' },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_text', text: 'b' },
          ],
        },
        {
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'hm' }],
          encrypted_content: null,
        },
        {
          role: 'assistant',
          content: [{ type: 'output_text', text: 'look', annotations: [], parsed: null }],
        },
        { ...call(CALL), status: 'completed', parsed_arguments: {} },
        call(OTHER),
        result(CALL.id, '21'),
        result(OTHER.id, [{ type: 'input_text', text: '3' }]),
        { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'so' }], summary: [] },
        { role: 'assistant', content: 'done' },
        { role: 'assistant', content: 'and more' },
        call(CALL),
      ]),
    ).toEqual([
      { role: 'system', content: 'd' },
      { role: 'user', content: 'a\nb' },
      { role: 'assistant', content: 'look', reasoning: 'hm', calls: [CALL, OTHER] },
      { role: 'tool', callId: CALL.id, content: '21' },
      { role: 'tool', callId: OTHER.id, content: '3' },
      { role: 'assistant', content: 'done', reasoning: 'so', calls: [] },
      { role: 'assistant', content: 'and more', reasoning: null, calls: [CALL] },
    ]);
  });
});

test('a text behind the calls of its turn belongs to it, as haystack-ai 3.4 sends it', () => {
  const turn = [call(CALL), { role: 'assistant', content: 'look' }, result(CALL.id, '21')];
  expect(messages([{ role: 'user', content: 'a' }, ...turn])[1]).toEqual({
    role: 'assistant',
    content: 'look',
    reasoning: null,
    calls: [CALL],
  });
});

test('a thought in tags is that of its turn, as pydantic-ai 2.68 sends it', () => {
  const read = messages([
    { role: 'user', content: 'a' },
    { role: 'assistant', content: '<think>\nhm\n</think>' },
    { role: 'assistant', content: 'look' },
    call(CALL),
    result(CALL.id, '21'),
    { role: 'assistant', content: '<think>\nso\n</think>' },
    call(OTHER),
    result(OTHER.id, '3'),
    { role: 'assistant', content: 'It writes <think> and </think>' },
  ]);
  expect(read.filter(({ role }) => role === 'assistant')).toEqual([
    { role: 'assistant', content: 'look', reasoning: 'hm', calls: [CALL] },
    { role: 'assistant', content: '', reasoning: 'so', calls: [OTHER] },
    {
      role: 'assistant',
      content: 'It writes <think> and </think>',
      reasoning: null,
      calls: [],
    },
  ]);
});

describe('what was answered', () => {
  const TURN = {
    role: 'assistant',
    content: '\n Let me look.  ',
    reasoning: 'hm',
    calls: [CALL, OTHER],
  };

  test('is referred to by the ids of its items', () => {
    const input = [
      USER,
      { type: 'item_reference', id: 'rs_r-0' },
      { id: 'msg_r-0' },
      call({ ...CALL, arguments: '{"n":1,"city":"Zürich"}' }),
      call(OTHER),
      result(CALL.id, 'a'),
    ];
    expect(messages(input, remembering())).toEqual([
      USER,
      { ...TURN, calls: [{ ...CALL, arguments: '{"n":1,"city":"Zürich"}' }, OTHER] },
      { role: 'tool', callId: CALL.id, content: 'a' },
    ]);
  });

  test('is one turn, even where results come between its calls', () => {
    const input = [
      USER,
      { type: 'reasoning', id: 'rs_r-0', summary: [] },
      { type: 'message', role: 'assistant', id: 'msg_r-0', content: TURN.content },
      call(CALL),
      result(CALL.id, 'a'),
      call(OTHER, 'fc_r-0_1'),
      result(OTHER.id, 'b'),
    ];
    expect(messages(input, remembering())).toEqual([
      USER,
      TURN,
      { role: 'tool', callId: CALL.id, content: 'a' },
      { role: 'tool', callId: OTHER.id, content: 'b' },
    ]);
  });

  test('goes on from the id of its response, again and again, without its instructions', () => {
    const memory: Memory = new Map();
    read({ instructions: 'once' }, memory).answer(replyOf('r-0', said('', null, CALL)));
    const next = { previous_response_id: 'resp_r-0', input: [result(CALL.id, 'a')] };
    const second = read(next, memory);
    const turn = { role: 'assistant', content: '', reasoning: null, calls: [CALL] };
    const soFar = [USER, turn, { role: 'tool', callId: CALL.id, content: 'a' }];
    expect(second.call.messages).toEqual(soFar);
    second.answer(replyOf('r-1', said('done')));
    const third = read({ previous_response_id: 'resp_r-1', input: 'more' }, memory).call.messages;
    expect(third.slice(0, 4)).toEqual([
      ...soFar,
      { role: 'assistant', content: 'done', reasoning: null, calls: [] },
    ]);
    // The other branch is still there.
    expect(read(next, memory).call.messages).toEqual(soFar);
  });

  test('is forgotten by its response when a session has said too much, but for the latest', () => {
    const memory: Memory = new Map();
    for (const id of ['r-0', 'r-1']) {
      read({ input: id.repeat(1_000_000) }, memory).answer(replyOf(id, said('a')));
    }
    const again = (id: string) => read({ previous_response_id: id }, memory);
    expect(again('resp_r-1').call.messages).toHaveLength(3);
    expect(refusedBy(() => again('resp_r-0')).message).toContain('does not have: send all items');
    // Its items are there.
    expect(messages([{ id: 'msg_r-0' }], memory)).toHaveLength(1);
  });

  test('is not counted again where the agent sends it again', () => {
    const memory: Memory = new Map();
    const long = { role: 'user', content: 'x'.repeat(1_500_000) };
    for (let i = 0; i < 5; i += 1) {
      const more = Array.from({ length: i }, () => USER);
      read({ input: [long, ...more] }, memory).answer(replyOf(`r-${i}`, said('a')));
    }
    expect(read({ previous_response_id: 'resp_r-0' }, memory).call.messages).toHaveLength(3);
  });
});

describe('a response is refused, with the place,', () => {
  test.each<[object, string, string]>([
    [{ input: undefined }, 'input', 'is missing; it must be a list'],
    [{ input: [] }, 'input', 'is empty'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image' }] }] },
      'input[0].content[0]',
      'is input_image: the policy reads only text',
    ],
    [{ input: [{ type: 'web_search_call' }] }, 'input[0].type', 'is web_search_call'],
    [
      { input: [{ type: 'item_reference', id: 'rs_x' }] },
      'input[0].id',
      'refers to rs_x, which is not an item',
    ],
    [{ input: [{}] }, 'input[0].id', 'is missing'],
    [
      { previous_response_id: 'resp_x' },
      'previous_response_id',
      'is resp_x, which this session does not have',
    ],
    [{ background: true }, 'background', 'in the background'],
    [{ conversation: 'c' }, 'conversation', 'stored conversations'],
    [{ prompt: { id: 'p' } }, 'prompt', 'stored prompts'],
    [{ text: { format: { type: 'json_schema' } } }, 'text.format', 'answers of type json_schema'],
    [{ top_logprobs: 2 }, 'top_logprobs', 'log-probabilities'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0]', 'a tool of type web_search'],
    [{ tools: [TOOL], tool_choice: { type: 'function', name: 'g' } }, 'tool_choice', 'names g'],
  ])('%j', (fields, at, words) => {
    const refusal = refusedBy(() => read(fields));
    expect(refusal.at).toBe(at);
    expect(refusal.message).toContain(words);
  });
});

describe('an answer as a response', () => {
  const reply = replyOf('r-0', said('text', 'hm', CALL));

  test('has what clients read', () => {
    expect(read({ tools: [TOOL] }).answer(reply)).toMatchObject({
      id: 'resp_r-0',
      object: 'response',
      created_at: 1_700_000_000,
      status: 'completed',
      model: 'm',
      output: [
        { type: 'reasoning', id: 'rs_r-0', summary: [{ type: 'summary_text', text: 'hm' }] },
        {
          type: 'message',
          id: 'msg_r-0',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'text', annotations: [], logprobs: [] }],
        },
        {
          type: 'function_call',
          id: 'fc_r-0_0',
          call_id: CALL.id,
          name: 'f',
          arguments: CALL.arguments,
          status: 'completed',
        },
      ],
      tools: [{ type: 'function', name: 'f' }],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
    });
  });

  test('that is cut short is incomplete', () => {
    expect(read({}).answer(replyOf('r', said('a'), 'length'))).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete' }],
    });
  });

  test('has a sealed thought where the agent keeps everything itself', () => {
    const include = ['reasoning.encrypted_content'];
    expect(read({ include }).answer(reply)).toMatchObject({
      output: [{ encrypted_content: expect.stringMatching(/.+/) }, {}, {}],
    });
  });

  test('has the same ids when it is given again, in a memory of its own', () => {
    expect(read({}).answer(reply)).toEqual(read({}).answer(reply));
    expect(read({}).events(reply)).toBe(read({}).events(reply));
  });

  test('in a stream has the events that SDKs need, in order', () => {
    const { events } = eventsIn(read({ stream: true }).events(reply));
    expect(events.map(({ name }) => name.replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.map(({ data }) => data.sequence_number)).toEqual([...events.keys()]);
    expect(events.every(({ name, data }) => name === data.type)).toBe(true);
    expect(events[0]!.data.response).toMatchObject({ status: 'in_progress', output: [] });
    const { answer } = read({});
    expect(events.at(-1)!.data.response).toEqual(answer(reply));
    const added = events.filter(({ name }) => name === 'response.output_item.added');
    expect(added.map(({ data }) => data.item)).toMatchObject([
      { id: 'rs_r-0', summary: [] },
      { id: 'msg_r-0', content: [], status: 'in_progress' },
      { id: 'fc_r-0_0', arguments: '', call_id: CALL.id, name: 'f' },
    ]);
  });

  test('in a stream that is cut short ends as incomplete', () => {
    const { events } = eventsIn(read({}).events(replyOf('r', said('a'), 'length')));
    expect(events.at(-1)!.name).toBe('response.incomplete');
  });
});

test('a refusal in a stream of a response is an error that every client sees', () => {
  const { events } = eventsIn(responses.failedEvents(new GatewayRefusal('limit', 'why')));
  expect(events).toMatchObject([
    {
      name: 'error',
      data: { type: 'error', message: 'why', error: { message: 'why', code: 'limit_reached' } },
    },
  ]);
});
