/** `%` and `str.format`, with the conversions that people write. */

import { checkedSize } from './arguments.ts';
import { fail, unsupported } from './failure.ts';
import { fixed, floatText, truncated } from './numbers.ts';
import { repr, toStr } from './print.ts';
import { concat, cut, isStr, plain, type Str } from './text.ts';
import {
  type Arguments,
  codePoints,
  Dict,
  List,
  orElse,
  Tuple,
  typeName,
  type Value,
  whole,
} from './values.ts';

const CONVERSION = /%(?:\(([^)]*)\))?([-+ #0]*)(\d*)(?:\.(\d+))?([a-zA-Z%])/g;

/** `template % value`. */
export function percent(template: Str, value: Value): Str {
  const text = plain(template);
  const positional = value instanceof Tuple ? value.items : [value];
  const parts: Str[] = [];
  let [done, used] = [0, 0];
  const next = (name: string | undefined): Value => {
    if (name !== undefined) {
      if (!(value instanceof Dict)) return fail('format requires a mapping');
      return orElse(value.get(name), () => fail(`KeyError: '${name}'`));
    }
    const item = positional[used++];
    return item === undefined ? fail('not enough arguments for format string') : item;
  };
  for (const found of text.matchAll(CONVERSION)) {
    const before = cut(template, done, found.index);
    if (plain(before).includes('%')) return unsupported(`the format ${JSON.stringify(text)}`);
    const [all, name, flags = '', width = '', precision, letter = ''] = found;
    done = found.index + all.length;
    if (letter === '%') parts.push(before, '%');
    else parts.push(before, converted(next(name), flags, width, precision, letter));
  }
  const rest = cut(template, done);
  if (plain(rest).includes('%')) fail('incomplete format');
  // a mapping may have unused items
  if (used < positional.length && !(value instanceof Dict || value instanceof List))
    fail('not all arguments converted during string formatting');
  return concat([...parts, rest]);
}

function converted(
  value: Value,
  flags: string,
  width: string,
  precision: string | undefined,
  letter: string,
): Str {
  if (letter === 's' || letter === 'r') {
    const text = letter === 's' ? toStr(value) : repr(value);
    const kept = precision === undefined ? text : firstPoints(text, Number(precision));
    return padded(kept, flags.includes('-') ? '<' : '>', ' ', Number(width || 0));
  }
  if (!'dif'.includes(letter) || flags.includes('#')) return unsupported(`the format %${letter}`);
  if (typeof value !== 'number' && whole(value) === null)
    fail(`%${letter} format: a real number is required, not ${typeName(value)}`);
  const number =
    letter === 'f' ? fixedText(value, Number(precision ?? 6)) : String(integral(value));
  const signed = number.startsWith('-') ? number : `${/[+ ]/.exec(flags)?.[0] ?? ''}${number}`;
  if (flags.includes('0') && !flags.includes('-')) return zeroPadded(signed, Number(width || 0));
  return padded(signed, flags.includes('-') ? '<' : '>', ' ', Number(width || 0));
}

const integral = (value: Value): bigint =>
  typeof value === 'number' ? truncated(value) : (whole(value) ?? 0n);

function fixedText(value: Value, places: number): string {
  const number = typeof value === 'number' ? value : Number(whole(value));
  return Number.isFinite(number) ? fixed(number, checkedSize(places)) : floatText(number);
}

function firstPoints(text: Str, count: number): Str {
  return cut(text, 0, [...plain(text)].slice(0, count).join('').length);
}

function padded(text: Str, align: string, fill: string, width: number): Str {
  const space = Math.max(0, checkedSize(width) - codePoints(plain(text)));
  const before = align === '<' ? 0 : align === '^' ? Math.floor(space / 2) : space;
  return concat([fill.repeat(before), text, fill.repeat(space - before)]);
}

function zeroPadded(number: string, width: number): string {
  checkedSize(width);
  const sign = /^[+\- ]?/.exec(number)?.[0] ?? '';
  return sign + number.slice(sign.length).padStart(width - sign.length, '0');
}

/** How the fields of a value are looked up. */
export interface Lookup {
  attribute(value: Value, name: string): Value;
  item(value: Value, key: Value): Value;
}

/** `template.format(…)`. */
export function formatMethod(template: Str, { positional, named }: Arguments, lookup: Lookup): Str {
  const text = plain(template);
  const parts: Str[] = [];
  let next = 0;
  let manual = false;
  const field = (name: string): Value => {
    const [first = ''] = /^[^.[]*/.exec(name) ?? [''];
    const numbered = /^\d+$/.test(first);
    if (numbered ? next > 0 : first === '' && manual)
      fail('cannot switch between automatic field numbering and manual field specification');
    manual ||= numbered;
    const key = first === '' ? String(next++) : first;
    let value = /^\d+$/.test(key) ? positional[Number(key)] : named.get(key);
    if (value === undefined)
      return /^\d+$/.test(key)
        ? fail('Replacement index out of range for positional args tuple')
        : fail(`KeyError: '${key}'`);
    for (const [, attribute, item] of name.slice(first.length).matchAll(/\.([^.[]+)|\[([^\]]+)\]/g))
      value =
        attribute !== undefined
          ? lookup.attribute(value, attribute)
          : lookup.item(value, /^\d+$/.test(item ?? '') ? BigInt(item ?? '') : (item ?? ''));
    return value;
  };
  for (let at = 0; at < text.length; ) {
    const brace = text.slice(at).search(/[{}]/);
    if (brace < 0) {
      parts.push(cut(template, at));
      break;
    }
    parts.push(cut(template, at, at + brace));
    at += brace;
    if (text[at + 1] === text[at]) {
      parts.push(text[at] ?? '');
      at += 2;
      continue;
    }
    const found = /^\{([^{}!:]*)(?:!([rsa]))?(?::([^{}]*))?\}/.exec(text.slice(at));
    if (!found) return unsupported(`the format ${JSON.stringify(text)}`);
    const [all, name = '', conversion, spec = ''] = found;
    const value = field(name);
    if (conversion === 'a') return unsupported('!a in a format');
    const shown = conversion === 'r' ? repr(value) : conversion === 's' ? toStr(value) : value;
    parts.push(formatted(shown, spec));
    at += all.length;
  }
  return concat(parts);
}

const SPEC = /^(?:(.)?([<>=^]))?([-+ ])?(0)?(\d+)?(,)?(?:\.(\d+))?([sdfF%]?)$/u;

/** `format(value, spec)`. */
function formatted(value: Value, spec: string): Str {
  if (spec === '') return toStr(value);
  const found = SPEC.exec(spec) ?? unsupported(`the format specification ${JSON.stringify(spec)}`);
  const [, fill = ' ', align, sign, zero, width = '', comma, precision, type = ''] = found;
  if (isStr(value)) {
    if ((type !== '' && type !== 's') || sign || comma || align === '=')
      return fail(`Invalid format specifier '${spec}' for object of type 'str'`);
    const kept = precision === undefined ? value : firstPoints(value, Number(precision));
    return padded(kept, align ?? '<', zero ? '0' : fill, Number(width || 0));
  }
  const number = numberText(value, type, precision, spec);
  const grouped = comma ? number.replace(/(?<=\d)(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ',') : number;
  const signed = grouped.startsWith('-') || !sign || sign === '-' ? grouped : sign + grouped;
  if (comma && zero) return unsupported(`the format specification ${JSON.stringify(spec)}`);
  if ((zero && !align) || align === '=') {
    if (!zero && fill !== '0')
      return unsupported(`the format specification ${JSON.stringify(spec)}`);
    return zeroPadded(signed, Number(width || 0));
  }
  return padded(signed, align ?? '>', fill, Number(width || 0));
}

function numberText(
  value: Value,
  type: string,
  precision: string | undefined,
  spec: string,
): string {
  if (typeof value !== 'number' && whole(value) === null)
    return fail(`unsupported format string passed to ${typeName(value)}.__format__`);
  if (type === 'd' || (type === '' && typeof value !== 'number')) {
    if (typeof value === 'number' || precision !== undefined)
      return fail(`Invalid format specifier '${spec}' for object of type '${typeName(value)}'`);
    return String(whole(value));
  }
  if (type === '%') {
    const number = typeof value === 'number' ? value : Number(whole(value));
    return `${fixed(number * 100, checkedSize(Number(precision ?? 6)))}%`;
  }
  if (type === 'f' || type === 'F') return fixedText(value, Number(precision ?? 6));
  if (precision !== undefined || typeof value !== 'number')
    return unsupported(`the format specification ${JSON.stringify(spec)}`);
  return floatText(value);
}
