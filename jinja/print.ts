/** Values as Python prints them: `str`, `repr`, and `json.dumps` as transformers calls it. */
import { deeper } from './budget.ts';
import { fail, unsupported } from './failure.ts';
import { floatText } from './numbers.ts';
import { changed, concat, isSafe, isStr, plain, type Str } from './text.ts';
import {
  compare,
  Dict,
  iterate,
  List,
  Loop,
  Namespace,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from './values.ts';

/** What `{{ value }}` prints. */
export function toStr(value: Value): Str {
  if (isStr(value)) return value;
  return value instanceof Undefined ? '' : repr(value);
}

export function repr(value: Value): Str {
  if (isStr(value)) return quoted(value);
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return floatText(value);
  if (value instanceof Undefined) return 'Undefined';
  return deeper(() => reprOfItems(value));
}

function reprOfItems(value: Exclude<Value, Str | null | boolean | bigint | number>): Str {
  if (value instanceof List) return concat(['[', ...listed(value.items), ']']);
  if (value instanceof Tuple) {
    const end = value.items.length === 1 ? ',)' : ')';
    return concat(['(', ...listed(value.items), end]);
  }
  if (value instanceof Dict) return concat(['{', ...fields(value), '}']);
  if (value instanceof View)
    return concat([`dict_${value.kind}([`, ...listed([...iterate(value)]), '])']);
  if (value instanceof Range) {
    const step = value.step === 1n ? '' : `, ${value.step}`;
    return `range(${value.start}, ${value.stop}${step})`;
  }
  if (value instanceof Namespace) {
    const attributes = new Dict([...value.fields]);
    return concat(['<Namespace ', repr(attributes), '>']);
  }
  if (value instanceof Loop) return unsupported('printing loop');
  return unsupported(`printing a ${typeName(value)}, which Python writes with its address,`);
}

function listed(items: readonly Value[]): Str[] {
  return items.flatMap((item, i) => (i === 0 ? [repr(item)] : [', ', repr(item)]));
}

function fields(dict: Dict): Str[] {
  return [...dict.entries.values()].flatMap(([key, value], i) => [
    ...(i === 0 ? [] : [', ']),
    repr(key),
    ': ',
    repr(value),
  ]);
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(value: Str): Str {
  const text = plain(value);
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inside = changed(value, (run) =>
    run.replace(/['"\\]|(?! )[\p{C}\p{Z}]/gu, (character) => {
      if (character === '\\' || character === mark) return `\\${character}`;
      if (character === "'" || character === '"') return character;
      return SHORT[character] ?? escapedPoint(character.codePointAt(0) ?? 0);
    }),
  );
  return isSafe(value)
    ? concat(['Markup(', mark, inside, mark, ')'])
    : concat([mark, inside, mark]);
}

function escapedPoint(point: number): string {
  const hex = point.toString(16);
  if (point < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return point < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

export interface JsonStyle {
  readonly ensureAscii: boolean;
  /** The indent of each level; null for one line. */
  readonly indent: string | null;
  readonly separators: readonly [Str, Str];
  readonly sortKeys: boolean;
}

/** `json.dumps(value, …)`. */
export function toJson(value: Value, style: JsonStyle): Str {
  const parts: Str[] = [];
  writeJson(value, style, '\n', parts);
  return concat(parts);
}

function writeJson(value: Value, style: JsonStyle, line: string, parts: Str[]): void {
  if (value instanceof List || value instanceof Tuple) {
    const write = (item: Value, inner: string) =>
      deeper(() => writeJson(item, style, inner, parts));
    writeAll('[', value.items, ']', style, line, parts, write);
  } else if (value instanceof Dict) {
    const entries = [...value.entries.values()];
    if (style.sortKeys) entries.sort(([a], [b]) => compare(a, b, '<'));
    writeAll('{', entries, '}', style, line, parts, ([key, item], inner) => {
      parts.push(jsonString(keyText(key), style), style.separators[1]);
      deeper(() => writeJson(item, style, inner, parts));
    });
  } else parts.push(isStr(value) ? jsonString(value, style) : jsonScalar(value));
}

function writeAll<Item>(
  open: string,
  items: readonly Item[],
  close: string,
  { indent, separators }: JsonStyle,
  line: string,
  parts: Str[],
  write: (item: Item, line: string) => void,
): void {
  if (items.length === 0) {
    parts.push(open + close);
    return;
  }
  const inner = indent === null ? '' : line + indent;
  parts.push(open);
  for (const [i, item] of items.entries()) {
    if (i > 0) parts.push(separators[0]);
    parts.push(inner);
    write(item, inner);
  }
  parts.push(indent === null ? close : line + close);
}

function jsonScalar(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'number')
    return fail(`Object of type ${typeName(value)} is not JSON serializable`);
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  return floatText(value);
}

function keyText(key: Value): Str {
  if (isStr(key)) return key;
  if (key === null || ['boolean', 'bigint', 'number'].includes(typeof key)) return jsonScalar(key);
  return fail(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
}

const JSON_SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

function jsonString(value: Str, { ensureAscii }: JsonStyle): Str {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what JSON escapes
  const pattern = ensureAscii ? /[^\x20-\x7e]|["\\]/g : /[\x00-\x1f"\\]/g;
  const short = (unit: string) =>
    JSON_SHORT[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return concat(['"', changed(value, (run) => run.replace(pattern, short)), '"']);
}
