/**
 * OpenAI's Chat Completions.
 *
 * The run sets the sampling: `temperature`, `seed` and so on from an agent are ignored. Fields that would
 * change the form of an answer and are not supported are refused by name.
 */
import type {
  AssistantMessage,
  FunctionCall,
  FunctionTool,
  Message,
  ModelCall,
  ModelReply,
} from '../conversation.ts';
import { type Asked, event, type Protocol, SILENT_LINE } from './protocol.ts';
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
  PIECES,
  quoted,
  stopAt,
  textAt,
  unsupported,
} from './reading.ts';
import { openAiError, openAiFailed } from './refusals.ts';
import {
  argumentsText,
  chosen,
  distinct,
  functionTool,
  openAiChoice,
  parallelAt,
} from './tools.ts';

export const chat: Protocol = {
  name: 'chat',
  path: 'chat/completions',
  read,
  failed: openAiFailed,
  failedEvents: (refusal) => event({ error: openAiError(refusal) }),
  keepAlive: SILENT_LINE,
};

function read(body: unknown): Asked {
  const fields = fieldsAt(body, '');
  const model = nameAt(fields.model, 'model');
  refuseForms(fields);
  const tools = distinct(toolsAt(fields.tools));
  const call: ModelCall = {
    protocol: 'chat',
    model,
    messages: messagesAt(fields.messages),
    tools,
    toolChoice: chosen(openAiChoice(fields.tool_choice, nameOfChoice), tools),
    maxTokens:
      countAt(fields.max_completion_tokens, 'max_completion_tokens') ??
      countAt(fields.max_tokens, 'max_tokens'),
    stop: stopAt(fields.stop, 'stop'),
    ...parallelAt(fields),
  };
  const options = fields.stream_options;
  const withUsage =
    options == null
      ? false
      : flagAt(fieldsAt(options, 'stream_options').include_usage, 'stream_options.include_usage');
  return {
    call,
    stream: flagAt(fields.stream, 'stream'),
    answer: (reply) => completion(reply, model),
    events: (reply) => chunks(reply, model, withUsage),
  };
}

/** Fields that ask for an answer in another form. */
function refuseForms(fields: Fields): void {
  const { n, functions, function_call, logprobs, modalities, audio, response_format } = fields;
  if (n != null && n !== 1) throw unsupported('n', 'several answers', 'ask several times');
  if (functions != null) throw unsupported('functions', 'legacy functions', 'send tools');
  if (function_call != null && function_call !== 'none' && function_call !== 'auto') {
    throw unsupported('function_call', 'legacy functions', 'send tool_choice');
  }
  if (logprobs === true) throw unsupported('logprobs', 'log-probabilities');
  if (audio != null || (Array.isArray(modalities) && modalities.some((one) => one !== 'text'))) {
    throw unsupported('modalities', 'an answer other than text');
  }
  if (response_format != null) refuseFormat(response_format, 'response_format');
}

/** Answers are as the policy writes them. */
export function refuseFormat(value: unknown, at: string): void {
  const { type } = fieldsAt(value, at);
  if (type === 'text' || type == null) return;
  const advice = 'say in the prompt how to answer, or offer a function for the answer';
  throw unsupported(at, `answers of type ${quoted(type)}`, advice);
}

function nameOfChoice(choice: Fields): unknown {
  return fieldsAt(choice.function, 'tool_choice.function').name;
}

function toolsAt(value: unknown): FunctionTool[] {
  if (value === undefined || value === null) return [];
  return listAt(value, 'tools').map((one, i) => {
    const at = `tools[${i}]`;
    const tool = fieldsAt(one, at);
    if (tool.type !== undefined && tool.type !== 'function') {
      throw unsupported(at, `a tool of type ${quoted(tool.type)}`, 'offer functions');
    }
    return functionTool(fieldsAt(tool.function, `${at}.function`), `${at}.function`, 'parameters');
  });
}

function messagesAt(value: unknown): Message[] {
  const list = listAt(value, 'messages');
  if (list.length === 0) throw invalid('messages', 'is empty');
  return list.map((one, i) => messageAt(fieldsAt(one, `messages[${i}]`), `messages[${i}]`));
}

function messageAt(message: Fields, at: string): Message {
  const role = nameAt(message.role, `${at}.role`);
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: contentAt(message.content, `${at}.content`, LINES) };
    case 'user':
      return { role: 'user', content: contentAt(message.content, `${at}.content`, LINES) };
    case 'assistant':
      return assistantAt(message, at);
    case 'tool':
      return {
        role: 'tool',
        callId: nameAt(message.tool_call_id, `${at}.tool_call_id`),
        content: contentAt(message.content ?? '', `${at}.content`, LINES),
      };
    default:
      throw invalid(
        `${at}.role`,
        `is ${quoted(role)}; it must be system, developer, user, assistant or tool`,
      );
  }
}

function assistantAt(message: Fields, at: string): AssistantMessage {
  if (message.function_call != null) {
    throw unsupported(`${at}.function_call`, 'functions of the old form', 'send tool_calls');
  }
  // Model servers differ in this name.
  const reasoning = message.reasoning_content ?? message.reasoning;
  return {
    role: 'assistant',
    content: contentAt(message.content ?? message.refusal ?? '', `${at}.content`, PIECES),
    reasoning: typeof reasoning === 'string' && reasoning !== '' ? reasoning : null,
    calls: callsAt(message.tool_calls, `${at}.tool_calls`),
  };
}

function callsAt(value: unknown, at: string): FunctionCall[] {
  if (value === undefined || value === null) return [];
  return listAt(value, at).map((one, i) => {
    const place = `${at}[${i}]`;
    const call = fieldsAt(one, place);
    const called = fieldsAt(call.function, `${place}.function`);
    return {
      id: nameAt(call.id, `${place}.id`),
      name: nameAt(called.name, `${place}.function.name`),
      arguments: textAt(called.arguments ?? '', `${place}.function.arguments`),
    };
  });
}

const FINISH: Readonly<Record<ModelReply['finish'], string>> = {
  stop: 'stop',
  length: 'length',
  calls: 'tool_calls',
};

function head(reply: ModelReply, object: string, model: string): Fields {
  const created = Math.floor(reply.createdMs / 1000);
  return { id: `chatcmpl-${reply.id}`, object, created, model };
}

function usage({ promptTokens, completionTokens }: ModelReply): Fields {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

function toolCall(call: FunctionCall): Fields {
  const { id, name } = call;
  return { id, type: 'function', function: { name, arguments: argumentsText(call) } };
}

function completion(reply: ModelReply, model: string): unknown {
  const { content, reasoning, calls } = reply.message;
  const message = {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toolCall) }),
  };
  return {
    ...head(reply, 'chat.completion', model),
    choices: [{ index: 0, message, logprobs: null, finish_reason: FINISH[reply.finish] }],
    usage: usage(reply),
  };
}

/** Reasoning, content and each call are one piece each: some clients keep only the last piece of a kind. */
function chunks(reply: ModelReply, model: string, withUsage: boolean): string {
  const { content, reasoning, calls } = reply.message;
  const deltas: Fields[] = [{ role: 'assistant', content: calls.length === 0 ? '' : null }];
  if (reasoning !== null) deltas.push({ reasoning_content: reasoning });
  if (content !== '') deltas.push({ content });
  for (const [index, call] of calls.entries()) {
    deltas.push({ tool_calls: [{ index, ...toolCall(call) }] });
  }
  const top = head(reply, 'chat.completion.chunk', model);
  const none = withUsage ? { usage: null } : {};
  const chunk = (delta: Fields, finish_reason: string | null): string =>
    event({ ...top, choices: [{ index: 0, delta, logprobs: null, finish_reason }], ...none });
  const parts = deltas.map((delta) => chunk(delta, null));
  parts.push(chunk({}, FINISH[reply.finish]));
  if (withUsage) parts.push(event({ ...top, choices: [], usage: usage(reply) }));
  return `${parts.join('')}data: [DONE]\n\n`;
}
