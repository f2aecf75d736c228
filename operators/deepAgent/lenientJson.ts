/**
 * JSON as models write it: strings may contain raw line breaks and tabs, as in a program that is an argument.
 */
import { jsonIn } from '../../base/text/index.ts';

/** The value; undefined if it is not JSON even in this sense. */
export function lenientJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return jsonIn(withEscapes(text));
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Escapes the control characters inside strings. */
function withEscapes(text: string): string {
  let inString = false;
  let escaped = false;
  let written = '';
  for (const character of text) {
    written += inString ? (ESCAPES[character] ?? character) : character;
    if (escaped) escaped = false;
    else if (inString && character === '\\') escaped = true;
    else if (character === '"') inString = !inString;
  }
  return written;
}
