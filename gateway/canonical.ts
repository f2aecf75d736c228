/**
 * Whether a message that an agent sends back is the one that we gave it.
 *
 * Agents rewrite turns: keys of arguments in another order, `1.0` as `1`, no reasoning, null for an empty
 * text. None of that counts. Content, and each call's id, name and the meaning of its arguments do. Arguments
 * of ours that are not a JSON object cannot come back unchanged (agents repair them, or send `{}`), so there
 * id and name decide.
 */
import type { AssistantMessage, FunctionCall, Message } from './conversation.ts';

/** Arguments nested deeper than this are compared as text. */
const DEPTH_MAX = 200;
/** Characters shown of each side of a difference. */
const SHOWN = 40;

/** Whether `theirs` says what `ours` says. */
export function sameTurn(ours: Message, theirs: Message): boolean {
  return firstDifference(ours, theirs) === null;
}

/** Where two messages first differ: `calls[0].arguments.city is "Paris", was "Rome"`; null = they do not. */
export function firstDifference(ours: Message, theirs: Message): string | null {
  if (ours.role !== theirs.role) return differ('role', ours.role, theirs.role);
  if (ours.content !== theirs.content) return differ('content', ours.content, theirs.content);
  if (ours.role === 'tool') {
    const { callId } = theirs as typeof ours;
    return ours.callId === callId ? null : differ('callId', ours.callId, callId);
  }
  return ours.role === 'assistant' ? inCalls(ours, theirs as AssistantMessage) : null;
}

/**
 * The first difference between two conversations, with its message: `messages[2].content is …`; null = none.
 */
export function firstDifferenceOf(
  ours: readonly Message[],
  theirs: readonly Message[],
): string | null {
  for (let at = 0; at < Math.min(ours.length, theirs.length); at += 1) {
    const found = firstDifference(ours[at]!, theirs[at]!);
    if (found !== null) return `messages[${at}].${found}`;
  }
  if (ours.length === theirs.length) return null;
  return `messages has ${theirs.length} items, had ${ours.length}`;
}

/**
 * Arguments in one form, however they were written: parsed, keys sorted, numbers as JavaScript writes them,
 * nothing as `{}`. Text that is not a JSON object stays as it is.
 */
export function canonicalArguments(text: string): string {
  const found = parsed(text);
  return found === undefined ? text : JSON.stringify(found);
}

function inCalls(ours: AssistantMessage, theirs: AssistantMessage): string | null {
  if (ours.calls.length !== theirs.calls.length) {
    return `calls has ${theirs.calls.length} items, had ${ours.calls.length}`;
  }
  for (const [at, call] of ours.calls.entries()) {
    const found = inCall(call, theirs.calls[at]!);
    if (found !== null) return `calls[${at}].${found}`;
  }
  return null;
}

function inCall(ours: FunctionCall, theirs: FunctionCall): string | null {
  if (ours.id !== theirs.id) return differ('id', ours.id, theirs.id);
  if (ours.name !== theirs.name) return differ('name', ours.name, theirs.name);
  if (ours.arguments === theirs.arguments) return null;
  const was = parsed(ours.arguments);
  if (was === undefined) return null;
  const is = parsed(theirs.arguments);
  if (is === undefined) return differ('arguments', ours.arguments, theirs.arguments);
  return inValues('arguments', was, is);
}

/** The object in canonical form; undefined if the text is not an object or is nested too deep. */
function parsed(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? sorted(value, 0) : undefined;
  } catch {
    return undefined;
  }
}

function sorted(value: unknown, depth: number): unknown {
  if (depth > DEPTH_MAX) throw new RangeError('nested too deep');
  if (Array.isArray(value)) return value.map((one) => sorted(one, depth + 1));
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key], depth + 1)]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Where two canonical values first differ. */
function inValues(path: string, was: unknown, is: unknown): string | null {
  if (Array.isArray(was) && Array.isArray(is)) {
    for (let at = 0; at < Math.max(was.length, is.length); at += 1) {
      const found = inValues(`${path}[${at}]`, was[at], is[at]);
      if (found !== null) return found;
    }
    return null;
  }
  if (isObject(was) && isObject(is)) {
    for (const key of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const found = inValues(`${path}${step(key)}`, own(was, key), own(is, key));
      if (found !== null) return found;
    }
    return null;
  }
  return JSON.stringify(was) === JSON.stringify(is) ? null : differ(path, was, is);
}

function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function step(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function differ(path: string, was: unknown, is: unknown): string {
  if (is === undefined) return `${path} is missing, was ${shown(was, 0)}`;
  if (was === undefined) return `${path} is ${shown(is, 0)}, was missing`;
  const from = typeof was === 'string' && typeof is === 'string' ? firstCharacter(was, is) : 0;
  const where = from === 0 ? '' : ` from character ${from}`;
  return `${path}${where} is ${shown(is, from)}, was ${shown(was, from)}`;
}

function firstCharacter(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  // A short text is shown whole.
  return Math.max(one.length, other.length) <= SHOWN ? 0 : at;
}

function shown(value: unknown, from: number): string {
  const text = typeof value === 'string' ? value.slice(from, from + SHOWN + 1) : value;
  const json = JSON.stringify(text);
  return json.length <= SHOWN + 2 ? json : `${json.slice(0, SHOWN)}…`;
}
