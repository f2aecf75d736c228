/**
 * A policy as a chat model with functions: conversations to token ids and back, by its own chat template and
 * in the form in which that template writes calls.
 *
 * A policy's own tokens are never encoded a second time: `grown` gives what follows them. What users and
 * tools say makes no special token.
 */
import { MillraceError, messageOf } from '../../base/index.ts';
import {
  type ChatMessage,
  type ChatOptions,
  type ChatTokenizer,
  checkChatTools,
  growChat,
} from '../../model/chat/index.ts';
import { endTokens } from '../../operators/dialect/index.ts';
import { type NativeForm, nativeChat, piecesOf } from '../../operators/dialect/native/index.ts';
import {
  type AssistantMessage,
  type FunctionTool,
  GatewayRefusal,
  type Message,
  resultText,
} from '../conversation.ts';
import { KnownTools } from './knownTools.ts';

/** What a policy wrote, read. */
export interface ReadTurn {
  readonly content: string;
  readonly reasoning: string | null;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
}

/** See above. Its methods throw a `GatewayRefusal` for what the template does not take. */
export interface PolicyChat {
  readonly tokenizer: ChatTokenizer;
  readonly stopTokens: readonly number[];
  /** What ends a call, where calls have such a text; empty = they have none. */
  readonly callEnd: string;
  /** The tools that its sessions offer. */
  readonly known: KnownTools;
  /** A conversation, and what opens the policy's turn. */
  whole(messages: readonly Message[], tools: readonly FunctionTool[]): Int32Array;
  /**
   * What follows a turn of the policy's, the last of `before`, up to where it goes on. `ended` = its tokens
   * end with one that ends a turn.
   */
  grown(
    before: readonly Message[],
    added: readonly Message[],
    tools: readonly FunctionTool[],
    ended: boolean,
  ): Int32Array;
  /** A turn from its text, without what ends it. Calls that cannot be read stay in the text. */
  read(text: string, tools: readonly FunctionTool[]): ReadTurn;
}

/** Of a function that a template is tried with. */
const PROBE = {
  name: 'look_up',
  about: 'Looks a word up.',
  parameters: {
    type: 'object',
    properties: { word: { type: 'string' }, count: { type: 'integer' } },
    required: ['word'],
  },
} as const;

/**
 * `folder` is for messages. Rejects nothing: a template without functions is refused when functions are asked
 * for.
 */
export function policyChat(tokenizer: ChatTokenizer, folder: string): PolicyChat {
  const functions = functionsOf(tokenizer, folder);
  const ends = endTokens(functions.tokenizer);

  const made = new WeakMap<readonly FunctionTool[], ChatOptions>();
  const optionsOf = (tools: readonly FunctionTool[]): ChatOptions => {
    if (tools.length === 0) return {};
    if (functions.fault !== '') throw new GatewayRefusal('invalid', functions.fault, 'tools');
    const options = made.get(tools) ?? { tools: Object.freeze(tools.map(declared)) };
    made.set(tools, options);
    return options;
  };
  const rendered = <T>(render: () => T): T => {
    try {
      return render();
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      throw new GatewayRefusal('invalid', messageOf(error), 'messages');
    }
  };
  const asText = functions.argumentsForm === 'text';
  const known = new WeakMap<Message, ChatMessage>();

  return {
    tokenizer: functions.tokenizer,
    stopTokens: ends,
    callEnd: functions.form === 'hermes' ? '</tool_call>' : '',
    known: new KnownTools(),
    whole(messages, tools) {
      const options = { ...optionsOf(tools), addGenerationPrompt: true };
      return rendered(() => tokenizer.encodeChat(chatMessages(messages, asText, known), options));
    },
    grown(before, added, tools, ended) {
      const all = chatMessages([...before, ...added], asText, known);
      const [first, rest] = [all.slice(0, before.length), all.slice(before.length)];
      const options = { ...optionsOf(tools), turnEnded: ended };
      return rendered(() => growChat(functions.tokenizer, first, rest, options));
    },
    read: (text, tools) => readTurn(text, tools, functions),
  };
}

interface Functions {
  readonly tokenizer: ChatTokenizer;
  readonly form: NativeForm;
  /** The template opens the thinking itself. */
  readonly thinking: boolean;
  readonly argumentsForm: 'object' | 'text';
  /** Why the template takes no functions; empty = it does. */
  readonly fault: string;
}

function functionsOf(tokenizer: ChatTokenizer, folder: string): Functions {
  const plain = nativeChat({ tokenizer, tools: [], system: '', folder });
  const { chat } = plain;
  const common = {
    tokenizer: { ...tokenizer, endTokens: chat.tokenizer.endTokens ?? tokenizer.endTokens },
    thinking: /<think>(?![\s\S]*<\/think>)/.test(chat.opening),
  };
  try {
    const { form } = nativeChat({ tokenizer, tools: [PROBE], system: '', folder });
    const schema = {
      type: 'function',
      function: { name: PROBE.name, description: PROBE.about, parameters: PROBE.parameters },
    } as const;
    return { ...common, form, argumentsForm: checkChatTools(tokenizer, [schema]), fault: '' };
  } catch (error) {
    const fault = `this policy cannot call functions: ${messageOf(error)}`;
    return { ...common, form: plain.form, argumentsForm: 'object', fault };
  }
}

function declared({ name, description, parameters }: FunctionTool) {
  return { type: 'function', function: { name, description, parameters } } as const;
}

/** Messages as templates read them; the same value for the same message, made once. */
function chatMessages(
  messages: readonly Message[],
  asText: boolean,
  known: WeakMap<Message, ChatMessage>,
): readonly ChatMessage[] {
  const names = new Map<string, string>();
  return messages.map((message) => {
    const name = message.role === 'tool' ? (names.get(message.callId) ?? 'tool') : '';
    if (message.role === 'assistant')
      for (const call of message.calls) names.set(call.id, call.name);
    const before = known.get(message);
    if (before !== undefined && (before.name ?? '') === name) return before;
    const made = Object.freeze(chatMessage(message, name, asText));
    known.set(message, made);
    return made;
  });
}

/** `name` = of the function whose result it is. */
function chatMessage(message: Message, name: string, asText: boolean): ChatMessage {
  if (message.role === 'assistant') return assistantMessage(message, asText);
  if (message.role !== 'tool') return { ...message };
  return { role: 'tool', content: resultText(message), tool_call_id: message.callId, name };
}

function assistantMessage(
  { role, content, reasoning, calls }: AssistantMessage,
  asText: boolean,
): ChatMessage {
  return {
    role,
    content,
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: text }) => ({
            id,
            type: 'function' as const,
            function: { name, arguments: asText ? text : objectIn(text) },
          })),
        }),
  };
}

function objectIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return {};
  }
}

function readTurn(
  text: string,
  tools: readonly FunctionTool[],
  { form, thinking }: Functions,
): ReadTurn {
  const { reasoning, rest } = thoughtIn(text, thinking);
  if (tools.length === 0) return { content: rest, reasoning, calls: [] };
  // Without parameters of their own, functions get their arguments as JSON, unchecked: the agent checks them.
  const specs = tools.map(({ name }) => ({
    name,
    about: '',
    parameters: { type: 'object' as const, properties: {}, required: [] },
  }));
  const pieces = piecesOf(rest, form, specs);
  const calls = pieces.flatMap(({ call }) =>
    call === null || call.fault !== undefined ? [] : [{ name: call.tool, arguments: call.input }],
  );
  const said = pieces
    .filter(({ call }) => call === null || call.fault !== undefined)
    .map(({ text: piece }) => piece)
    .join('');
  // What a template writes between calls is no content.
  return { content: calls.length > 0 ? said.trim() : said, reasoning, calls };
}

/** The thinking at the beginning of a turn, and what follows it. */
function thoughtIn(
  text: string,
  opened: boolean,
): { readonly reasoning: string | null; readonly rest: string } {
  const begins = text.trimStart().startsWith('<think>');
  if (!opened && !begins) return { reasoning: null, rest: text };
  const from = begins ? text.indexOf('<think>') + '<think>'.length : 0;
  const close = text.indexOf('</think>', from);
  if (close < 0) return { reasoning: text.slice(from).trim(), rest: '' };
  const rest = text.slice(close + '</think>'.length).replace(/^\n+/, '');
  return { reasoning: text.slice(from, close).trim(), rest };
}
