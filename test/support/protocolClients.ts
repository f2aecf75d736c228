/** A program's model calls in each protocol, without an SDK: what it sends and what it reads. */
import { eventsIn } from '../gateway/protocols/support.ts';
import { ADD } from './toolLessons.ts';

export type ProtocolName = 'chat' | 'responses' | 'messages';

export interface ReadCall {
  readonly id: string;
  readonly arguments: string;
}

/** An answer: what it says, and what the conversation holds of it. */
export interface Said {
  readonly text: string;
  readonly calls: readonly ReadCall[];
  readonly turn: readonly object[];
}

export interface ProtocolClient {
  readonly path: string;
  /** The request with this conversation. */
  body(conversation: readonly object[], stream: boolean): string;
  read(answer: string, stream: boolean): Said;
  results(given: readonly { readonly id: string; readonly content: string }[]): readonly object[];
}

const { name, description, parameters } = ADD;

/** What the events of a stream hold, of which a protocol names the fields. */
function dataIn<Data>(answer: string): Data[] {
  return eventsIn(answer).events.map(({ data }) => data as Data);
}

interface ChatMessage {
  readonly content?: string | null;
  readonly tool_calls?: {
    readonly index?: number;
    readonly id: string;
    readonly function: { readonly name?: string; readonly arguments?: string };
  }[];
}

interface ChatChunk {
  readonly choices: { readonly delta?: ChatMessage }[];
}

const chat: ProtocolClient = {
  path: 'chat/completions',
  body: (messages, stream) =>
    JSON.stringify({ model: 'm', messages, stream, tools: [{ type: 'function', function: ADD }] }),
  read(answer, stream) {
    const message = stream
      ? chatMessage(dataIn(answer))
      : (JSON.parse(answer) as { choices: { message: ChatMessage }[] }).choices[0]!.message;
    const { content, tool_calls: calls = [] } = message;
    return {
      text: content ?? '',
      calls: calls.map((call) => ({ id: call.id, arguments: call.function.arguments! })),
      turn: [message],
    };
  },
  results: (given) => given.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content })),
};

function chatMessage(chunks: readonly ChatChunk[]): ChatMessage & { readonly role: string } {
  let content = '';
  const calls: { id: string; type: string; function: { name?: string; arguments: string } }[] = [];
  for (const { choices } of chunks) {
    const { content: text, tool_calls: parts = [] } = choices[0]?.delta ?? {};
    content += text ?? '';
    for (const { index = 0, id, function: called } of parts) {
      calls[index] ??= { id, type: 'function', function: { ...called, arguments: '' } };
      calls[index].function.arguments += called.arguments ?? '';
    }
  }
  return { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
}

interface Output {
  readonly output: {
    readonly type: string;
    readonly content?: { readonly text: string }[];
    readonly call_id?: string;
    readonly arguments?: string;
  }[];
}

const responses: ProtocolClient = {
  path: 'responses',
  body: (input, stream) =>
    JSON.stringify({
      ...{ model: 'm', input, stream },
      tools: [{ type: 'function', name, description, parameters }],
    }),
  read(answer, stream) {
    const ends = ['response.completed', 'response.incomplete'];
    const { output } = stream
      ? dataIn<{ type: string; response: Output }>(answer).find(({ type }) => ends.includes(type))!
          .response
      : (JSON.parse(answer) as Output);
    return {
      text: output.flatMap(({ content = [] }) => content.map(({ text }) => text)).join(''),
      calls: output
        .filter(({ type }) => type === 'function_call')
        .map((call) => ({ id: call.call_id!, arguments: call.arguments! })),
      turn: output,
    };
  },
  results: (given) =>
    given.map(({ id, content }) => ({
      type: 'function_call_output',
      call_id: id,
      output: content,
    })),
};

interface Block {
  readonly type: string;
  text?: string;
  readonly id?: string;
  input?: unknown;
}

interface BlockEvent {
  readonly type: string;
  readonly index: number;
  readonly content_block: Block;
  readonly delta: { readonly text?: string; readonly partial_json?: string };
}

const messages: ProtocolClient = {
  path: 'messages',
  body: (conversation, stream) =>
    JSON.stringify({
      ...{ model: 'm', max_tokens: 200, messages: conversation, stream },
      tools: [{ name, description, input_schema: parameters }],
    }),
  read(answer, stream) {
    const content = stream
      ? blocks(dataIn(answer))
      : (JSON.parse(answer) as { content: Block[] }).content;
    return {
      text: content.map(({ text = '' }) => text).join(''),
      calls: content
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, input }) => ({ id: id!, arguments: JSON.stringify(input) })),
      turn: [{ role: 'assistant', content }],
    };
  },
  results: (given) => [
    {
      role: 'user',
      content: given.map(({ id, content }) => ({ type: 'tool_result', tool_use_id: id, content })),
    },
  ],
};

function blocks(events: readonly BlockEvent[]): Block[] {
  const content: Block[] = [];
  const inputs: string[] = [];
  for (const { type, index, content_block: block, delta } of events) {
    if (type === 'content_block_start') content[index] = { ...block };
    if (type !== 'content_block_delta') continue;
    if (delta.text !== undefined) content[index]!.text += delta.text;
    if (delta.partial_json !== undefined) {
      inputs[index] = (inputs[index] ?? '') + delta.partial_json;
    }
  }
  for (const [index, text] of inputs.entries()) {
    if (text !== undefined) content[index]!.input = JSON.parse(text || '{}');
  }
  return content;
}

export const protocolClients: Readonly<Record<ProtocolName, ProtocolClient>> = {
  chat,
  responses,
  messages,
};
