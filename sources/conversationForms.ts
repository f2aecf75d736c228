/**
 * The forms in which conversations to fine-tune on are published, and how a row of each becomes turns:
 *
 * - `alpaca`: instruction, input, output, system, history (pairs of earlier turns), as LLaMA-Factory reads
 *   them: the user's message is instruction and input, one per line;
 * - `sharegpt`: conversations [{from: human | gpt | function_call | observation | system, value}], system,
 *   tools;
 * - `openai`: messages [{role: system | developer | user | assistant | tool, content, tool_calls, …}], tools.
 *
 * A file may name its columns and roles differently (`Columns`, as in LLaMA-Factory's dataset_info.json).
 * Pure functions of a row; complaints name the field as the file has it.
 */
import { jsonIn } from '../base/text/index.ts';
import type { ChatCall, ChatTurn } from '../topics/index.ts';
import { kindName } from './rawRow.ts';

/** The names of the forms; `auto` = recognised by the fields of each row. */
export const conversationForms = ['auto', 'alpaca', 'sharegpt', 'openai'] as const;
export type ConversationForm = (typeof conversationForms)[number];

/** Where a row has what. A null column is not read, whatever the row has. */
export interface Columns {
  readonly prompt: string;
  readonly query: string | null;
  readonly response: string;
  readonly history: string | null;
  readonly messages: string;
  readonly system: string | null;
  readonly tools: string | null;
  /** The fields of a message of `sharegpt`, and what its roles are called. */
  readonly role: string;
  readonly content: string;
  readonly roles: Readonly<Record<string, ChatTurn['role'] | 'call'>>;
}

/** A row as a conversation. */
export interface Conversation {
  readonly turns: readonly ChatTurn[];
  /** JSON list of function schemas; '' if there are none. */
  readonly functions: string;
}

/** What is wrong with a row, and in which field. */
export class WrongRow extends Error {
  readonly field: string;
  constructor(field: string, reason: string) {
    super(reason);
    this.field = field;
  }
}

type Fields = Readonly<Record<string, unknown>>;

const common = { system: 'system', tools: 'tools', history: 'history', query: 'input' } as const;

/** The columns of a form by default. */
export const defaultColumns: Readonly<Record<Exclude<ConversationForm, 'auto'>, Columns>> = {
  alpaca: {
    ...common,
    prompt: 'instruction',
    response: 'output',
    messages: '',
    role: '',
    content: '',
    roles: {},
  },
  sharegpt: {
    ...common,
    prompt: '',
    response: '',
    messages: 'conversations',
    role: 'from',
    content: 'value',
    roles: {
      human: 'user',
      user: 'user',
      gpt: 'assistant',
      assistant: 'assistant',
      function_call: 'call',
      observation: 'tool',
      tool: 'tool',
      system: 'system',
    },
  },
  openai: {
    ...common,
    prompt: '',
    response: '',
    messages: 'messages',
    role: 'role',
    content: 'content',
    roles: {
      system: 'system',
      developer: 'system',
      user: 'user',
      assistant: 'assistant',
      tool: 'tool',
      function: 'tool',
    },
  },
};

/**
 * The form of a row, by its fields; null if it has none. A list of messages has the form `openai` if its
 * messages have a `role`, whatever the list is called.
 */
export function formOf(
  fields: Fields,
): { form: 'alpaca' | 'sharegpt' | 'openai'; columns: Columns } | null {
  for (const messages of ['messages', 'conversations', 'conversation']) {
    const first = listed(fields[messages])?.[0];
    if (first === undefined) continue;
    const form = isObject(first) && 'from' in first ? 'sharegpt' : 'openai';
    return { form, columns: { ...defaultColumns[form], messages } };
  }
  const { prompt, response } = defaultColumns.alpaca;
  if (!(prompt in fields) && !(response in fields)) return null;
  return { form: 'alpaca', columns: defaultColumns.alpaca };
}

/** The conversation of a row. Throws `WrongRow`. */
export function conversationOf(
  fields: Fields,
  form: Exclude<ConversationForm, 'auto'>,
  columns: Columns,
): Conversation {
  const turns = form === 'alpaca' ? alpaca(fields, columns) : chat(fields, form, columns);
  const system = optionalText(fields, columns.system);
  const given =
    turns[0]?.role === 'system' || system === '' ? turns : [turn('system', system), ...turns];
  if (!given.some(({ learnt }) => learnt)) {
    const field = form === 'alpaca' ? columns.response : columns.messages;
    throw new WrongRow(field, 'has no answer to learn from');
  }
  if (given.find(({ role }) => role !== 'system')?.role === 'assistant') {
    throw new WrongRow(
      columns.messages,
      'must not begin with an answer; a user message must come first',
    );
  }
  return { turns: given, functions: functionsOf(fields, columns.tools) };
}

function alpaca(fields: Fields, columns: Columns): ChatTurn[] {
  const asked = [columns.prompt, columns.query].map((name) => optionalText(fields, name));
  const question = asked.filter((text) => text !== '').join('\n');
  if (question.trim() === '') throw new WrongRow(columns.prompt, 'is missing or empty');
  const answer = fields[columns.response];
  if (typeof answer !== 'string') throw new WrongRow(columns.response, notText(answer));
  if (answer.trim() === '') throw new WrongRow(columns.response, 'is empty');
  return [...earlier(fields, columns.history), turn('user', question), turn('assistant', answer)];
}

function earlier(fields: Fields, history: string | null): ChatTurn[] {
  if (history === null || isAbsent(fields[history])) return [];
  const pairs = listed(fields[history]);
  if (pairs === null) throw new WrongRow(history, 'must be a list of pairs of strings');
  return pairs.flatMap((pair, i) => {
    const texts = listed(pair);
    const [asked, answered] = texts ?? [];
    if (texts?.length !== 2 || typeof asked !== 'string' || typeof answered !== 'string') {
      throw new WrongRow(`${history}[${i}]`, 'must be two strings, a question and its answer');
    }
    return [turn('user', asked), turn('assistant', answered)];
  });
}

function chat(fields: Fields, form: 'sharegpt' | 'openai', columns: Columns): ChatTurn[] {
  const messages = listed(fields[columns.messages]);
  if (messages === null) {
    const why = isAbsent(fields[columns.messages]) ? 'is missing' : 'must be a list of messages';
    throw new WrongRow(columns.messages, why);
  }
  return messages.map((message, i) => {
    const place = `${columns.messages}[${i}]`;
    if (!isObject(message)) throw new WrongRow(place, 'must be an object');
    const role = columns.roles[String(message[columns.role])];
    if (role === undefined) {
      const known = Object.keys(columns.roles).join(', ');
      const found = JSON.stringify(message[columns.role]) ?? 'missing';
      throw new WrongRow(`${place}.${columns.role}`, `is ${found}; it must be one of ${known}`);
    }
    const at = `${place}.${columns.content}`;
    const content = message[columns.content];
    if (role === 'call') {
      return { ...turn('assistant', ''), calls: writtenCalls(textIn(content, at), at) };
    }
    return form === 'sharegpt'
      ? turn(role, textIn(content, at))
      : openAiTurn(role, message, { place, at });
  });
}

/** `value` of a `function_call`: one call or a list of them, as JSON. */
function writtenCalls(text: string, at: string): ChatCall[] {
  const calls = jsonIn(text);
  const all = Array.isArray(calls) ? calls : [calls];
  if (all.length === 0) throw new WrongRow(at, 'has no call');
  return all.map((call) => {
    if (!isObject(call) || typeof call.name !== 'string') {
      throw new WrongRow(at, 'must be JSON with the name and arguments of a function');
    }
    return { name: call.name, arguments: argumentsText(call.arguments), id: '' };
  });
}

function openAiTurn(
  role: ChatTurn['role'],
  message: Fields,
  { place, at }: { readonly place: string; readonly at: string },
): ChatTurn {
  const calls = role === 'assistant' ? openAiCalls(message, place) : [];
  const given = message.content;
  const text = isAbsent(given) && calls.length > 0 ? '' : contentText(given, at);
  const thinking = message.reasoning_content ?? message.reasoning ?? '';
  return {
    ...turn(role, text),
    thinking: role === 'assistant' && typeof thinking === 'string' ? thinking : '',
    calls,
    name: role === 'tool' && typeof message.name === 'string' ? message.name : '',
    callId: role === 'tool' && typeof message.tool_call_id === 'string' ? message.tool_call_id : '',
    learnt: role === 'assistant' && Number(message.weight ?? 1) !== 0,
  };
}

function openAiCalls(message: Fields, place: string): ChatCall[] {
  if (isAbsent(message.tool_calls)) {
    if (isAbsent(message.function_call)) return [];
    return [openAiCall(message.function_call, '', `${place}.function_call`)];
  }
  const calls = listed(message.tool_calls);
  if (calls === null) throw new WrongRow(`${place}.tool_calls`, 'must be a list');
  return calls.map((call, i) => {
    const at = `${place}.tool_calls[${i}]`;
    if (!isObject(call)) throw new WrongRow(at, 'must be an object');
    const id = typeof call.id === 'string' ? call.id : '';
    return openAiCall(isAbsent(call.function) ? call : call.function, id, at);
  });
}

function openAiCall(call: unknown, id: string, at: string): ChatCall {
  if (!isObject(call) || typeof call.name !== 'string') {
    throw new WrongRow(at, 'must have the name and arguments of a function');
  }
  return { name: call.name, arguments: argumentsText(call.arguments), id };
}

/** Text, or a list of parts of which every one is text. */
function contentText(content: unknown, at: string): string {
  if (!Array.isArray(content)) return textIn(content, at);
  return content
    .map((part, i) => {
      if (isObject(part) && typeof part.text === 'string') return part.text;
      const kind = isObject(part) && typeof part.type === 'string' ? ` of type ${part.type}` : '';
      throw new WrongRow(`${at}[${i}]`, `is a part${kind}; only text can be trained on`);
    })
    .join('');
}

function argumentsText(given: unknown): string {
  return typeof given === 'string' ? given : json(given ?? {});
}

function functionsOf(fields: Fields, column: string | null): string {
  const given = column === null ? undefined : fields[column];
  if (isAbsent(given)) return '';
  const list = typeof given === 'string' ? jsonIn(given) : given;
  if (Array.isArray(list)) return list.length === 0 ? '' : json(list);
  throw new WrongRow(column ?? 'tools', 'must be a list of functions, or such a list as JSON');
}

function optionalText(fields: Fields, column: string | null): string {
  if (column === null || isAbsent(fields[column])) return '';
  return textIn(fields[column], column);
}

function textIn(value: unknown, at: string): string {
  if (typeof value === 'string') return value;
  throw new WrongRow(at, notText(value));
}

function notText(value: unknown): string {
  if (value === undefined || value === null) return 'is missing';
  return `must be a string, not ${kindName(value)}`;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A list, also as JSON text (cells of CSV and of some Parquet files are text). */
function listed(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string' || !value.trimStart().startsWith('[')) return null;
  const list = jsonIn(value);
  return Array.isArray(list) ? list : null;
}

function json(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? Number(part) : part));
}

function turn(role: ChatTurn['role'], text: string): ChatTurn {
  return {
    role,
    text,
    thinking: '',
    calls: [],
    name: '',
    callId: '',
    learnt: role === 'assistant',
  };
}
