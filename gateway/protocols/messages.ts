/**
 * Anthropic's Messages.
 *
 * `cache_control`, `metadata` and sampling are not used. Conversations kept on the server (`thread`) are
 * refused in the way that makes the SDK send the whole conversation instead.
 */
import type {
  AssistantMessage,
  FunctionCall,
  FunctionTool,
  GatewayRefusal,
  Message,
  ModelCall,
  ModelReply,
  RefusalKind,
} from '../conversation.ts';
import { refuseFormat } from './chat.ts';
import { type Asked, event, type Failed, type Protocol } from './protocol.ts';
import {
  contentAt,
  countAt,
  type Fields,
  fieldsAt,
  flagAt,
  invalid,
  LINES,
  listAt,
  nameAt,
  partsAt,
  partText,
  quoted,
  stopAt,
  textAt,
  unsupported,
} from './reading.ts';
import { retryHeaders, STATUS } from './refusals.ts';
import { mustBeShallow } from './schema.ts';
import { argumentsObject, argumentsText, chosen, distinct, functionTool } from './tools.ts';

export const messages: Protocol = {
  name: 'messages',
  path: 'messages',
  read,
  failed,
  failedEvents: (refusal) => event(failed(refusal).body, 'error'),
  keepAlive: event({ type: 'ping' }, 'ping'),
};

/** Where the refused field is a thread, the SDK sends all messages, now and later. */
const THREAD = 'thread';

function read(body: unknown): Asked {
  const fields = fieldsAt(body, '');
  const model = nameAt(fields.model, 'model');
  if (fields.thread != null) {
    throw unsupported(THREAD, 'a conversation stored on the server', 'send all messages');
  }
  refuseForms(fields);
  const tools = distinct(toolsAt(fields.tools));
  const call: ModelCall = {
    protocol: 'messages',
    model,
    messages: [...systemAt(fields.system), ...messagesAt(fields.messages)],
    tools,
    toolChoice: chosen(choiceAt(fields.tool_choice), tools),
    maxTokens: countAt(fields.max_tokens, 'max_tokens'),
    stop: stopAt(fields.stop_sequences, 'stop_sequences'),
    ...parallelAt(fields.tool_choice),
  };
  return {
    call,
    stream: flagAt(fields.stream, 'stream'),
    answer: (reply) => message(reply, model),
    events: (reply) => events(reply, model),
  };
}

/** Fields that ask for an answer of another form, or for tools that run elsewhere. */
function refuseForms({ output_format, output_config, mcp_servers }: Fields): void {
  if (output_format != null) refuseFormat(output_format, 'output_format');
  const format = output_config == null ? null : fieldsAt(output_config, 'output_config').format;
  if (format != null) refuseFormat(format, 'output_config.format');
  if (Array.isArray(mcp_servers) && mcp_servers.length > 0) {
    throw unsupported('mcp_servers', 'tools that the server calls', 'call them yourself');
  }
}

/** What `count_tokens` answers. */
export function countedTokens(tokens: number): unknown {
  return { input_tokens: tokens };
}

/** A line that a client writes to its provider for the bill; it changes with every request. */
const BILLING = 'x-anthropic-billing-header:';

function systemAt(value: unknown): Message[] {
  if (value === undefined || value === null) return [];
  const parts = partsAt(value, 'system').map(({ part, at }) => partText(part, at));
  const content = parts.filter((text) => !text.startsWith(BILLING)).join(LINES);
  return content === '' ? [] : [{ role: 'system', content }];
}

function toolsAt(value: unknown): FunctionTool[] {
  if (value === undefined || value === null) return [];
  return listAt(value, 'tools').map((one, i) => {
    const at = `tools[${i}]`;
    const tool = fieldsAt(one, at);
    if (tool.type != null && tool.type !== 'custom') {
      throw unsupported(at, `a tool of type ${quoted(tool.type)}`, 'offer tools with input_schema');
    }
    return functionTool(tool, at, 'input_schema');
  });
}

function choiceAt(value: unknown): ModelCall['toolChoice'] {
  if (value === undefined || value === null) return 'auto';
  const choice = fieldsAt(value, 'tool_choice');
  const type = nameAt(choice.type, 'tool_choice.type');
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return 'required';
  if (type === 'tool') return { name: nameAt(choice.name, 'tool_choice.name') };
  throw invalid('tool_choice.type', `is ${quoted(type)}; it must be auto, any, tool or none`);
}

function parallelAt(choice: unknown): Pick<ModelCall, 'parallel'> {
  if (choice === undefined || choice === null) return {};
  const { disable_parallel_tool_use: never } = fieldsAt(choice, 'tool_choice');
  return flagAt(never, 'tool_choice.disable_parallel_tool_use') ? { parallel: false } : {};
}

function messagesAt(value: unknown): Message[] {
  const list = listAt(value, 'messages');
  if (list.length === 0) throw invalid('messages', 'is empty');
  const read = list.map((one, i) => messageAt(fieldsAt(one, `messages[${i}]`), `messages[${i}]`));
  if (read.at(-1)!.some(({ role }) => role === 'assistant')) {
    const at = `messages[${list.length - 1}]`;
    throw invalid(
      at,
      'begins the answer itself, which this gateway does not support: end with a user',
    );
  }
  return joinedTurns(read.flat());
}

/** Turns of the policy that follow each other are one, as Anthropic says: some clients send it in pieces. */
function joinedTurns(read: readonly Message[]): Message[] {
  const joined: Message[] = [];
  for (const message of read) {
    const before = joined.at(-1);
    if (message.role !== 'assistant' || before?.role !== 'assistant') joined.push(message);
    else joined[joined.length - 1] = joinedTurn(before, message);
  }
  return joined;
}

function joinedTurn(one: AssistantMessage, other: AssistantMessage): AssistantMessage {
  const reasoning = `${one.reasoning ?? ''}${other.reasoning ?? ''}`;
  return {
    role: 'assistant',
    content: `${one.content}${other.content}`,
    reasoning: reasoning === '' ? null : reasoning,
    calls: [...one.calls, ...other.calls],
  };
}

function messageAt(message: Fields, at: string): Message[] {
  const role = nameAt(message.role, `${at}.role`);
  const place = `${at}.content`;
  if (role === 'system') {
    return [{ role: 'system', content: contentAt(message.content, place, LINES) }];
  }
  if (role === 'user') return userAt(message.content, place);
  if (role === 'assistant') return [assistantAt(message.content, place)];
  throw invalid(`${at}.role`, `is ${quoted(role)}; it must be user, assistant or system`);
}

/** Results of calls are messages of their own; the texts between them are one each. */
function userAt(content: unknown, at: string): Message[] {
  const read: Message[] = [];
  let texts: string[] = [];
  const endTexts = (): void => {
    if (texts.length > 0) read.push({ role: 'user', content: texts.join(LINES) });
    texts = [];
  };
  for (const { part, at: place } of partsAt(content, at)) {
    if (part.type === 'tool_result') {
      endTexts();
      read.push(resultAt(part, place));
    } else texts.push(partText(part, place));
  }
  endTexts();
  if (read.length === 0) throw invalid(at, 'is empty');
  return read;
}

function resultAt(part: Fields, at: string): Message {
  return {
    role: 'tool',
    callId: nameAt(part.tool_use_id, `${at}.tool_use_id`),
    content: contentAt(part.content ?? '', `${at}.content`, LINES),
    ...(flagAt(part.is_error, `${at}.is_error`) ? { isError: true } : {}),
  };
}

function assistantAt(content: unknown, at: string): AssistantMessage {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const calls: FunctionCall[] = [];
  for (const { part, at: place } of partsAt(content, at)) {
    if (part.type === 'thinking') thoughts.push(textAt(part.thinking, `${place}.thinking`));
    else if (part.type === 'tool_use') calls.push(useAt(part, place));
    else if (part.type !== 'redacted_thinking') texts.push(partText(part, place));
  }
  const reasoning = thoughts.join('');
  return {
    role: 'assistant',
    content: texts.join(''),
    reasoning: reasoning === '' ? null : reasoning,
    calls,
  };
}

function useAt(part: Fields, at: string): FunctionCall {
  const input = fieldsAt(part.input ?? {}, `${at}.input`);
  mustBeShallow(input, `${at}.input`);
  return {
    id: nameAt(part.id, `${at}.id`),
    name: nameAt(part.name, `${at}.name`),
    arguments: JSON.stringify(input),
  };
}

const STOP_REASON: Readonly<Record<ModelReply['finish'], string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
};

/** Why it ended; a call says more than the text behind it. */
function stopOf({ finish, stoppedBy = null }: ModelReply): Fields {
  return finish === 'stop' && stoppedBy !== null
    ? { stop_reason: 'stop_sequence', stop_sequence: stoppedBy }
    : { stop_reason: STOP_REASON[finish], stop_sequence: null };
}

function usage(reply: ModelReply, outputTokens: number): Fields {
  return {
    input_tokens: reply.promptTokens,
    output_tokens: outputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  };
}

function message(reply: ModelReply, model: string): unknown {
  return {
    ...head(reply, model),
    content: blocks(reply).map(({ block }) => block),
    ...stopOf(reply),
    usage: usage(reply, reply.completionTokens),
  };
}

function head(reply: ModelReply, model: string): Fields {
  return { id: `msg_${reply.id}`, type: 'message', role: 'assistant', model };
}

interface Block {
  /** As a whole. */
  readonly block: Fields;
  /** As it begins in a stream. */
  readonly start: Fields;
  /** What makes it whole. */
  readonly deltas: readonly Fields[];
}

/** An empty answer has an empty text. A thought is signed: without, some clients leave it out. */
function blocks(reply: ModelReply): Block[] {
  const { content, reasoning, calls } = reply.message;
  const all: Block[] = [];
  if (reasoning !== null) {
    const signature = Buffer.from(reply.id).toString('base64');
    all.push({
      block: { type: 'thinking', thinking: reasoning, signature },
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        { type: 'thinking_delta', thinking: reasoning },
        { type: 'signature_delta', signature },
      ],
    });
  }
  if (content !== '' || calls.length === 0) {
    all.push({
      block: { type: 'text', text: content },
      start: { type: 'text', text: '' },
      deltas: [{ type: 'text_delta', text: content }],
    });
  }
  return [...all, ...calls.map(toolUse)];
}

function toolUse(call: FunctionCall): Block {
  const start = { type: 'tool_use', id: call.id, name: call.name };
  return {
    block: { ...start, input: argumentsObject(call) },
    start: { ...start, input: {} },
    deltas: [{ type: 'input_json_delta', partial_json: argumentsText(call) }],
  };
}

function events(reply: ModelReply, model: string): string {
  const said: string[] = [];
  const say = (type: string, fields: Fields): void => {
    said.push(event({ type, ...fields }, type));
  };
  const begun = { content: [], stop_reason: null, stop_sequence: null, usage: usage(reply, 0) };
  say('message_start', { message: { ...head(reply, model), ...begun } });
  for (const [index, { start, deltas }] of blocks(reply).entries()) {
    say('content_block_start', { index, content_block: start });
    for (const delta of deltas) say('content_block_delta', { index, delta });
    say('content_block_stop', { index });
  }
  say('message_delta', { delta: stopOf(reply), usage: usage(reply, reply.completionTokens) });
  say('message_stop', {});
  return said.join('');
}

const TYPES: Readonly<Record<RefusalKind, string>> = {
  invalid: 'invalid_request_error',
  key: 'not_found_error',
  ended: 'not_found_error',
  limit: 'not_found_error',
  context: 'invalid_request_error',
  size: 'request_too_large',
  unavailable: 'rate_limit_error',
  failed: 'api_error',
};

function failed(refusal: GatewayRefusal): Failed {
  const { kind, at } = refusal;
  // Clients look for these words, to shorten the conversation.
  const words = kind === 'context' ? `prompt is too long: ${refusal.message}` : refusal.message;
  const details = { error_code: 'thread_unsupported_request', unsupported: [THREAD] };
  const error = {
    type: TYPES[kind],
    message: words,
    ...(kind === 'invalid' && at === THREAD ? { details } : {}),
  };
  // The SDK asks again itself after this one, with all messages.
  return { status: STATUS[kind], headers: retryHeaders(refusal), body: { type: 'error', error } };
}
