/**
 * Names of tools as functions may be called (DeepAgent §1.5, ToolBench's conversion). A caret is kept: the
 * released pattern lists it among the characters of a name.
 */

const RESERVED = ['from', 'class', 'return', 'false', 'true', 'id', 'and'];
const NAME_MAX = 64;

/** Lower case, `_` for all but letters, digits and Chinese characters, never twice in a row or at an end. */
export function standardName(name: string): string {
  const plain = name
    .replace(/[^\u4e00-\u9fa5^a-zA-Z0-9_]/gu, '_')
    .replace(/_+/g, '_')
    .replace(/^_|_$/g, '')
    .toLowerCase();
  return /^[0-9]/.test(plain) ? `get_${plain}` : plain;
}

/** The name, or another one if it is a reserved word. */
export function unreserved(name: string): string {
  return RESERVED.includes(name) ? `is_${name}` : name;
}

/** The function name for an API of a tool; a long name keeps its end. */
export function functionName(api: string, tool: string): string {
  const name = `${unreserved(standardName(api))}_for_${standardName(tool)}`;
  return [...name].slice(-NAME_MAX).join('');
}
