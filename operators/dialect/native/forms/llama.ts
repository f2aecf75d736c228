/**
 * `llama` (Llama 3.x): the turn is the call, `{"name": …, "parameters": {…}}`, several with `;` between, or
 * `<|python_tag|>` before such an object, before `tool.call(argument="…")`, or before a program.
 */
import type { DialectCall } from '../../dialect.ts';
import { callFrom, fault, type ToolSpec, withArguments } from '../toolCalls.ts';
import type { Piece } from './form.ts';

const PYTHON = '<|python_tag|>';

/** A turn in pieces. */
export function llama(text: string, tools: readonly ToolSpec[]): readonly Piece[] {
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

/** The JSON objects that make up a text, with `;` or white space between; null if there is anything else. */
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

/** Where the object that begins at `start` ends; null if it does not. */
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
