/** Each field of a request, replaced by each kind of value: it is read or refused, and nothing else. */
import { describe, expect, test } from '@jest/globals';
import { GatewayRefusal } from '../../../gateway/conversation.ts';
import { PROTOCOLS } from '../../../gateway/server/route.ts';
import { replyOf, said } from '../../support/scriptedSessions.ts';

const SCHEMA = { type: 'object', properties: { a: { type: ['string', 'null'] } }, required: ['a'] };
const BODIES: Readonly<Record<string, object>> = {
  chat: {
    model: 'm',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 's' }] },
      { role: 'user', content: 'u' },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'r',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: SCHEMA } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    response_format: { type: 'text' },
    stream_options: { include_usage: true },
    modalities: ['text'],
    max_tokens: 1,
    max_completion_tokens: 1,
    stop: ['a'],
    n: 1,
    stream: true,
  },
  responses: {
    model: 'm',
    instructions: 's',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'u' }] },
      { type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: 'r' }], content: [] },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg',
        content: [{ type: 'output_text', text: 't' }],
      },
      { type: 'function_call', id: 'fc', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'x' },
    ],
    tools: [{ type: 'function', name: 'f', description: 'd', parameters: SCHEMA }],
    tool_choice: { type: 'function', name: 'f' },
    text: { format: { type: 'text' } },
    include: ['reasoning.encrypted_content'],
    max_output_tokens: 1,
    previous_response_id: null,
    stream: true,
  },
  messages: {
    model: 'm',
    system: [{ type: 'text', text: 's' }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'u' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'r', signature: 's' },
          { type: 'text', text: 't' },
          { type: 'tool_use', id: 'a', name: 'f', input: { a: 'x' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'x' }] },
        ],
      },
    ],
    tools: [{ name: 'f', description: 'd', input_schema: SCHEMA }],
    tool_choice: { type: 'tool', name: 'f' },
    max_tokens: 1,
    stop_sequences: ['a'],
    thread: null,
    stream: true,
  },
};

let deep: unknown = 0;
for (let i = 0; i < 20_000; i += 1) deep = [deep];
const OTHERS = [
  null,
  true,
  0,
  -1.5,
  '',
  'x',
  [],
  {},
  [null],
  [[]],
  ['x'],
  [{}],
  { type: 'x' },
  deep,
];

/** All places in a value. */
function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const within = Object.entries(value).flatMap(([key, one]) => placesIn(one, [...path, key]));
  return [path, ...within];
}

function replaced(body: unknown, path: readonly string[], by: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return by;
  const copy = Array.isArray(body) ? [...body] : { ...(body as object) };
  Reflect.set(copy, key, replaced(Reflect.get(copy, key), rest, by));
  return copy;
}

describe.each(PROTOCOLS)('a request of $name', (protocol) => {
  const body = BODIES[protocol.name]!;
  const reply = replyOf('r', said('t', 'r', { id: 'a', name: 'f', arguments: '{}' }));

  test('is read as it is', () => {
    const { call, events, answer } = protocol.read(body, new Map());
    expect(call.messages.length).toBeGreaterThan(3);
    expect(call.tools).toHaveLength(1);
    expect(JSON.stringify(answer(reply)).length + events(reply).length).toBeGreaterThan(500);
  });

  test('with any other value in any place is read and answered, or refused', () => {
    let refused = 0;
    let read = 0;
    for (const path of placesIn(body)) {
      for (const other of OTHERS) {
        try {
          const asked = protocol.read(replaced(body, path, other), new Map());
          JSON.stringify(asked.call);
          JSON.stringify(asked.answer(reply));
          asked.events(reply);
          read += 1;
        } catch (error) {
          if (!(error instanceof GatewayRefusal)) throw error;
          expect(error.message.length).toBeLessThan(300);
          refused += 1;
        }
      }
    }
    expect(refused).toBeGreaterThan(300);
    expect(read).toBeGreaterThan(50);
  });
});
