/**
 * The forms in which policies write calls into their turns:
 *
 * - `hermes` (Qwen2.5, Qwen3, Hermes): `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, any number of them;
 * - `llama` (Llama 3.x): the turn is the call, `{"name": …, "parameters": {…}}`, several with `;` between, or
 *   `<|python_tag|>` before such an object, before `tool.call(argument="…")`, or before a program.
 *
 * What stands in a thinking block is no call. A form gives a turn in pieces whose texts are the turn.
 */
import type { DialectCall } from '../dialect.ts';
import { callFrom, fault, type ToolSpec, withArguments } from './toolCalls.ts';

/** The names of the forms. */
export const nativeForms = ['hermes', 'llama'] as const;
/** One of `nativeForms`. */
export type NativeForm = (typeof nativeForms)[number];

/** A stretch of a turn; a call where it is one. */
export interface Piece {
  readonly text: string;
  readonly call: DialectCall | null;
}

/** What follows the policy's thinking, in pieces. */
export function piecesOf(
  text: string,
  form: NativeForm,
  tools: readonly ToolSpec[],
): readonly Piece[] {
  return form === 'hermes' ? hermes(text, tools) : llama(text, tools);
}

/** Where thinking ends: behind its first closing tag, or with the turn; 0 where there is none. */
export function thinkingEnd(turn: string, opened: boolean): number {
  if (!opened && !turn.trimStart().startsWith('<think>')) return 0;
  const close = turn.indexOf('</think>');
  return close < 0 ? turn.length : close + '</think>'.length;
}

const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';

function hermes(text: string, tools: readonly ToolSpec[]): Piece[] {
  const pieces: Piece[] = [];
  const put = (piece: string, call: DialectCall | null): void => {
    if (piece !== '') pieces.push({ text: piece, call });
  };
  let at = 0;
  for (;;) {
    const open = text.indexOf(OPEN, at);
    if (open < 0) break;
    put(text.slice(at, open), null);
    const close = text.indexOf(CLOSE, open);
    if (close < 0) {
      put(text.slice(open), fault('', `a call ends with ${CLOSE}`));
      return pieces;
    }
    at = close + CLOSE.length;
    put(text.slice(open, at), callFrom(text.slice(open + OPEN.length, close), tools));
  }
  put(text.slice(at), null);
  return pieces;
}

const PYTHON = '<|python_tag|>';

function llama(text: string, tools: readonly ToolSpec[]): Piece[] {
  const at = text.indexOf(PYTHON);
  const own = text.trim();
  if (at < 0 && !/^\{\s*"(?:name|type|parameters|function)"/.test(own)) {
    return text === '' ? [] : [{ text, call: null }];
  }
  const before = at < 0 ? '' : text.slice(0, at);
  const called = at < 0 ? text : text.slice(at);
  const calls = llamaCalls(at < 0 ? own : called.slice(PYTHON.length).trim(), tools, at >= 0);
  const pieces: Piece[] = before === '' ? [] : [{ text: before, call: null }];
  // The pieces' texts are the turn: the first call has all of it, the others nothing.
  return [...pieces, ...calls.map((call, i) => ({ text: i === 0 ? called : '', call }))];
}

function llamaCalls(
  text: string,
  tools: readonly ToolSpec[],
  tagged: boolean,
): readonly DialectCall[] {
  const objects = objectsIn(text);
  if (objects !== null) return objects.map((object) => callFrom(object, tools));
  if (!tagged || text.startsWith('{')) return [callFrom(text, tools)];
  const [, name, given] = /^([\w-]+)\.call\(([\s\S]*)\)$/.exec(text) ?? [];
  const named = tools.find((tool) => tool.name === name);
  if (named !== undefined) {
    const args = [...given!.matchAll(/(\w+)\s*=\s*("(?:[^"\\]|\\.)*")/g)];
    const values = args.map(([, key, value]) => [key!, unquoted(value!)] as const);
    return [withArguments(named, Object.fromEntries(values))];
  }
  const python = tools.find((tool) => tool.name === 'python');
  const [argument] = Object.keys(python?.parameters.properties ?? {});
  if (python !== undefined && argument !== undefined) {
    return [withArguments(python, { [argument]: text })];
  }
  return [fault('', 'there is no tool python')];
}

function unquoted(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted.slice(1, -1);
  }
}

/** The JSON objects that a text consists of, with `;` or white space between; null where it is not so. */
function objectsIn(text: string): readonly string[] | null {
  const found: string[] = [];
  let at = 0;
  while (at < text.length) {
    const end = objectEnd(text, at);
    if (end === null) return null;
    found.push(text.slice(at, end));
    at = end + /^[\s;]*/.exec(text.slice(end))![0].length;
  }
  return found.length === 0 ? null : found;
}

/** Where the object that begins at `start` ends; null where none does. */
function objectEnd(text: string, start: number): number | null {
  if (text[start] !== '{') return null;
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (quoted) {
      if (character === '\\') at++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return at + 1;
  }
  return null;
}
