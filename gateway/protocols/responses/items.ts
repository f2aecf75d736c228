/**
 * The items of a Responses conversation: read from a request, made of an answer, and gathered into messages.
 *
 * What the model says in one turn is several items: a thought, a text, calls. Items of one answer are known
 * by their ids; others belong together as long as nothing from the agent comes between: a thought before the
 * rest, and one text.
 */
import type { AssistantMessage, FunctionCall, Message, ModelReply } from '../../conversation.ts';
import {
  contentAt,
  type Fields,
  fieldsAt,
  invalid,
  LINES,
  listAt,
  nameAt,
  PIECES,
  quoted,
  textAt,
} from '../reading.ts';
import { argumentsText } from '../tools.ts';

/** `turn` is the id of the answer that an item is of; null where that is not known. */
export type Item =
  | { readonly kind: 'message'; readonly message: Message }
  | { readonly kind: 'thought' | 'text'; readonly text: string; readonly turn: string | null }
  | { readonly kind: 'call'; readonly call: FunctionCall; readonly turn: string | null };

/** What is known of items by their ids, and of calls by theirs. */
export interface Known {
  item(id: string): Item | undefined;
  turnOfCall(callId: string): string | undefined;
}

/** The input of a request: a text, or items. */
export function itemsAt(value: unknown, known: Known): Item[] {
  if (typeof value === 'string') {
    return [{ kind: 'message', message: { role: 'user', content: value } }];
  }
  return listAt(value, 'input').map((one, i) => {
    const at = `input[${i}]`;
    return itemAt(fieldsAt(one, at), at, known);
  });
}

function itemAt(item: Fields, at: string, known: Known): Item {
  const type = item.type ?? (item.role === undefined ? 'item_reference' : 'message');
  switch (type) {
    case 'message':
      return messageAt(item, at, known);
    case 'reasoning':
      return thoughtAt(item, at, known);
    case 'function_call':
      return callAt(item, at, known);
    case 'function_call_output': {
      const callId = nameAt(item.call_id, `${at}.call_id`);
      const content = contentAt(item.output ?? '', `${at}.output`, LINES);
      return { kind: 'message', message: { role: 'tool', callId, content } };
    }
    case 'item_reference': {
      const id = nameAt(item.id, `${at}.id`);
      const found = known.item(id);
      if (found !== undefined) return found;
      throw invalid(`${at}.id`, `refers to ${quoted(id)}, which is not an item of this session`);
    }
    default:
      throw invalid(
        `${at}.type`,
        `is ${quoted(type)}: the policy reads only text, thoughts and calls`,
      );
  }
}

function turnOf(item: Fields, known: Known): string | null {
  const found = typeof item.id === 'string' ? known.item(item.id) : undefined;
  return found === undefined || found.kind === 'message' ? null : found.turn;
}

function messageAt(item: Fields, at: string, known: Known): Item {
  const role = nameAt(item.role, `${at}.role`);
  const read = (between: string): string => contentAt(item.content, `${at}.content`, between);
  switch (role) {
    case 'user':
      return { kind: 'message', message: { role, content: read(LINES) } };
    case 'system':
    case 'developer':
      return { kind: 'message', message: { role: 'system', content: read(LINES) } };
    case 'assistant':
      return saidAt(read(PIECES), turnOf(item, known));
    default:
      throw invalid(
        `${at}.role`,
        `is ${quoted(role)}; it must be system, developer, user or assistant`,
      );
  }
}

/** Some clients write a thought of ours as a text of its own, in tags. */
const TAGGED = /^<think>\n?((?:(?!<\/think>)[\s\S])*?)\n?<\/think>$/;

function saidAt(text: string, turn: string | null): Item {
  const thought = TAGGED.exec(text.trim())?.[1];
  return thought === undefined
    ? { kind: 'text', text, turn }
    : { kind: 'thought', text: thought, turn };
}

/** Agents send a thought of ours with or without its text. */
function thoughtAt(item: Fields, at: string, known: Known): Item {
  const parts = (field: 'content' | 'summary'): string =>
    listAt(item[field] ?? [], `${at}.${field}`)
      .map((one, i) => {
        const place = `${at}.${field}[${i}]`;
        return textAt(fieldsAt(one, place).text, `${place}.text`);
      })
      .join('');
  const ours = typeof item.id === 'string' ? known.item(item.id) : undefined;
  const text = parts('content') || parts('summary');
  if (text === '' && ours?.kind === 'thought') return ours;
  return { kind: 'thought', text, turn: turnOf(item, known) };
}

function callAt(item: Fields, at: string, known: Known): Item {
  const call = {
    id: nameAt(item.call_id, `${at}.call_id`),
    name: nameAt(item.name, `${at}.name`),
    arguments: textAt(item.arguments ?? '', `${at}.arguments`),
  };
  return { kind: 'call', call, turn: turnOf(item, known) ?? known.turnOfCall(call.id) ?? null };
}

/** A turn while its items come. */
interface Open {
  readonly turn: string | null;
  readonly at: number;
  thoughts: string;
  text: string | null;
  readonly calls: FunctionCall[];
  /** Whether something else came after it. */
  ended: boolean;
}

export function messagesFrom(items: readonly Item[]): Message[] {
  const messages: Message[] = [];
  let open: Open | null = null;
  for (const item of items) {
    if (item.kind === 'message') {
      messages.push(item.message);
      if (open !== null) open.ended = true;
      continue;
    }
    if (open === null || !belongs(item, open)) {
      open = {
        turn: item.turn,
        at: messages.length,
        thoughts: '',
        text: null,
        calls: [],
        ended: false,
      };
      messages.push(assistantOf(open));
    }
    if (item.kind === 'call') open.calls.push(item.call);
    else if (item.kind === 'text') open.text = (open.text ?? '') + item.text;
    else open.thoughts += item.text;
    messages[open.at] = assistantOf(open);
  }
  return messages;
}

function belongs(item: Exclude<Item, { kind: 'message' }>, open: Open): boolean {
  if (item.turn !== null && open.turn !== null) return item.turn === open.turn;
  if (open.ended) return false;
  if (item.kind === 'call') return true;
  // Also behind its calls: nothing else can be said before their results.
  if (item.kind === 'text') return open.text === null;
  return open.text === null && open.calls.length === 0 && open.thoughts === '';
}

function assistantOf({ thoughts, text, calls }: Open): AssistantMessage {
  const reasoning = thoughts === '' ? null : thoughts;
  return { role: 'assistant', content: text ?? '', reasoning, calls };
}

/** An item of an answer: how it is remembered, and how it is said. */
export interface OutputItem {
  readonly id: string;
  readonly item: Item;
  readonly said: Fields;
}

/** `sealed`: a thought carries what an agent sends back that wants nothing to be stored here. */
export function outputOf(reply: ModelReply, sealed: boolean): OutputItem[] {
  const { id: turn, message, finish } = reply;
  const status = finish === 'length' ? 'incomplete' : 'completed';
  const items: OutputItem[] = [];
  if (message.reasoning !== null) {
    const text = message.reasoning;
    const seal = sealed ? { encrypted_content: Buffer.from(turn).toString('base64') } : {};
    items.push({
      id: `rs_${turn}`,
      item: { kind: 'thought', text, turn },
      said: {
        type: 'reasoning',
        id: `rs_${turn}`,
        summary: [{ type: 'summary_text', text }],
        ...seal,
      },
    });
  }
  if (message.content !== '' || message.calls.length === 0) {
    const text = message.content;
    const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
    items.push({
      id: `msg_${turn}`,
      item: { kind: 'text', text, turn },
      said: { type: 'message', id: `msg_${turn}`, status, role: 'assistant', content },
    });
  }
  for (const [i, call] of message.calls.entries()) {
    const id = `fc_${turn}_${i}`;
    const said = { call_id: call.id, name: call.name, arguments: argumentsText(call), status };
    items.push({
      id,
      item: { kind: 'call', call, turn },
      said: { type: 'function_call', id, ...said },
    });
  }
  return items;
}
