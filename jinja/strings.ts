/** The methods of Python's str. Positions count code points. */
import {
  bind,
  bindPositional,
  boolean,
  integer,
  optionalInteger,
  sizeOf,
  string,
} from './arguments.ts';
import { uncounted } from './budget.ts';
import { fail } from './failure.ts';
import { changed, concat, cut, isStr, plain, type Str } from './text.ts';
import {
  type Arguments,
  codePoints,
  isPair,
  iterate,
  List,
  searched,
  Tuple,
  typeName,
  type Value,
} from './values.ts';

/** White space as `str.isspace` defines it; the content of a character class. */
export const SPACE =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const BEFORE = new RegExp(`^[${SPACE}]+`);
const BLANK = new RegExp(`[${SPACE}]`);
const WORDS = new RegExp(`[^${SPACE}]+`, 'g');

/** Where the text ends without trailing white space; a regular expression would take quadratic time. */
export function endOf(text: string): number {
  let end = text.length;
  while (end > 0 && BLANK.test(text[end - 1] as string)) end--;
  return end;
}

/** The unit at which each code point begins, and the end; null when they are the same. */
function offsets(text: string): readonly number[] | null {
  if (codePoints(text) === text.length) return null;
  const starts: number[] = [];
  for (let i = 0; i < text.length; i += isPair(text, i) ? 2 : 1) starts.push(i);
  return [...starts, text.length];
}

/** Python's start, stop and step for a slice of something this long. */
export function sliceBounds(
  length: number,
  start: number | null,
  stop: number | null,
  step: number,
): readonly [number, number] {
  if (step === 0) fail('slice step cannot be zero');
  const [low, high] = step > 0 ? [0, length] : [-1, length - 1];
  const bound = (value: number | null, otherwise: number) =>
    value === null ? otherwise : Math.max(low, Math.min(high, value < 0 ? value + length : value));
  return step > 0 ? [bound(start, low), bound(stop, high)] : [bound(start, high), bound(stop, low)];
}

/** `value[start:stop:step]`. */
export function sliceStr(value: Str, start: number | null, stop: number | null, step: number): Str {
  const text = plain(value);
  const at = offsets(text);
  const unit = (point: number) => at?.[point] ?? (at === null ? point : text.length);
  const [first, end] = sliceBounds(codePoints(text), start, stop, step);
  if (step === 1) return cut(value, unit(first), unit(Math.max(first, end)));
  const picked: Str[] = [];
  for (let i = first; step > 0 ? i < end : i > end; i += step)
    picked.push(cut(value, unit(i), unit(i + 1)));
  return concat(picked);
}

/** `value[index]`, or null beyond its ends. */
export function characterAt(value: Str, index: number): Str | null {
  const length = codePoints(plain(value));
  const at = index < 0 ? index + length : index;
  return at < 0 || at >= length ? null : sliceStr(value, at, at + 1, 1);
}

/** `value.strip(chars)` on the given sides. */
export function strip(value: Str, chars: string | null, left = true, right = true): Str {
  const text = plain(value);
  if (chars === null) {
    const start = left ? (BEFORE.exec(text)?.[0].length ?? 0) : 0;
    const end = right ? Math.max(start, endOf(text)) : text.length;
    return cut(value, start, end);
  }
  const set = new Set(chars);
  const points = [...text];
  let [start, end] = [0, text.length];
  let [first, last] = [0, points.length];
  for (; left && first < last && set.has(points[first] ?? ''); first++)
    start += points[first]?.length ?? 0;
  for (; right && last > first && set.has(points[last - 1] ?? ''); last--)
    end -= points[last - 1]?.length ?? 0;
  return cut(value, start, end);
}

/** `value.replace(old, by, count)`; a negative count means all. */
export function replace(value: Str, old: Str, by: Str, count: number): Str {
  const text = plain(value);
  const search = plain(old);
  searched(search);
  const parts: Str[] = [];
  let done = 0;
  let left = count < 0 ? Number.POSITIVE_INFINITY : count;
  if (search === '') {
    const points = [...iterate(value)] as Str[];
    for (const point of points) {
      parts.push(...(left-- > 0 ? [by, point] : [point]));
    }
    return concat(left > 0 ? [...parts, by] : parts);
  }
  for (let at = text.indexOf(search); at >= 0 && left > 0; at = text.indexOf(search, done)) {
    parts.push(cut(value, done, at), by);
    done = at + search.length;
    left--;
  }
  return done === 0 ? value : concat([...parts, cut(value, done)]);
}

function split(value: Str, separator: string | null, limit: number): readonly Str[] {
  const text = plain(value);
  const most = limit < 0 ? Number.POSITIVE_INFINITY : limit;
  const parts: Str[] = [];
  if (separator === null) {
    for (const word of text.matchAll(WORDS)) {
      if (parts.length === most) {
        parts.push(cut(value, word.index));
        break;
      }
      parts.push(cut(value, word.index, word.index + word[0].length));
    }
    return parts;
  }
  if (separator === '') fail('empty separator');
  searched(separator);
  let done = 0;
  for (let at = text.indexOf(separator); at >= 0 && parts.length < most; ) {
    parts.push(cut(value, done, at));
    done = at + separator.length;
    at = text.indexOf(separator, done);
  }
  return [...parts, cut(value, done)];
}

/** Prepending more pieces than this takes longer than the length of the text tells. */
const PIECES_MAX = 100;

function splitFromRight(value: Str, separator: string | null, limit: number): readonly Str[] {
  if (limit < 0) return split(value, separator, -1);
  if (limit > PIECES_MAX) uncounted();
  const text = plain(value);
  const parts: Str[] = [];
  if (separator === null) {
    const words = [...text.matchAll(WORDS)];
    const kept = words.slice(Math.max(0, words.length - limit));
    const before = strip(cut(value, 0, kept[0]?.index ?? text.length), null);
    const tail = kept.map(({ index, 0: word }) => cut(value, index, index + word.length));
    return plain(before) === ''
      ? tail
      : [strip(cut(value, 0, kept[0]?.index ?? text.length), null, false), ...tail];
  }
  if (separator === '') fail('empty separator');
  searched(separator);
  let end = text.length;
  while (parts.length < limit) {
    const at = end < separator.length ? -1 : text.lastIndexOf(separator, end - separator.length);
    if (at < 0) break;
    parts.unshift(cut(value, at + separator.length, end));
    end = at;
  }
  return [cut(value, 0, end), ...parts];
}

/** `value.splitlines(keepends)`. */
export function splitLines(value: Str, keep = false): readonly Str[] {
  const text = plain(value);
  const lines: Str[] = [];
  let start = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Python's line ends
  for (const end of text.matchAll(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g)) {
    const after = end.index + end[0].length;
    lines.push(cut(value, start, keep ? after : end.index));
    start = after;
  }
  return start < text.length ? [...lines, cut(value, start)] : lines;
}

const title = (character: string): string => {
  const upper = character.toUpperCase();
  // 'ß' becomes 'Ss' and 'ﬁ' 'Fi' as titles; single letters of two cases have a third form
  const third: Readonly<Record<string, string>> = { Ǆ: 'ǅ', Ǉ: 'ǈ', Ǌ: 'ǋ', Ǳ: 'ǲ' };
  const points = [...upper];
  return points.length > 1
    ? `${points[0]}${points.slice(1).join('').toLowerCase()}`
    : (third[upper] ?? upper);
};

const upper = (value: Str): Str => changed(value, (text) => text.toUpperCase());
const lower = (value: Str): Str => changed(value, (text) => text.toLowerCase());

/** `value.capitalize()`. */
export function capitalize(value: Str): Str {
  const first = sliceStr(value, 0, 1, 1);
  return concat([changed(first, title), lower(cut(value, plain(first).length))]);
}

/** `prefix` and similar arguments may be a tuple. */
function affixes(value: Value | undefined, name: string): readonly string[] {
  if (value !== undefined && isStr(value)) return [plain(value)];
  if (value instanceof Tuple && value.items.every(isStr)) return value.items.map(plain);
  return fail(`${name} first arg must be str or a tuple of str, not ${typeName(value ?? null)}`);
}

/** The stretch that `find`, `count`, `startswith` … search. */
function stretch(value: Str, start: Value | undefined, stop: Value | undefined): Str {
  const length = codePoints(plain(value));
  const first = optionalInteger(start);
  if (first !== null && first > length) return '';
  return sliceStr(value, first, optionalInteger(stop), 1);
}

function find(value: Str, args: Arguments, name: string, last: boolean): number {
  const [what, start, stop] = bindPositional(name, args, 1, 3);
  const search = string(what, `${name}() argument 1`);
  searched(search);
  const text = plain(value);
  const length = codePoints(text);
  const [first] = sliceBounds(length, optionalInteger(start), optionalInteger(stop), 1);
  if ((optionalInteger(start) ?? 0) > length) return -1;
  const inside = plain(stretch(value, start, stop));
  const at = last ? inside.lastIndexOf(search) : inside.indexOf(search);
  return at < 0 ? -1 : first + codePoints(inside.slice(0, at));
}

function pad(
  value: Str,
  args: Arguments,
  name: string,
  left: (space: number, width: number) => number,
): Str {
  const [width, fill] = bindPositional(name, args, 1, 2);
  const mark: Str =
    fill === undefined ? ' ' : isStr(fill) ? fill : string(fill, 'the fill character');
  if (codePoints(plain(mark)) !== 1) fail('The fill character must be exactly one character long');
  const wide = sizeOf(width, 0);
  const space = Math.max(0, wide - codePoints(plain(value)));
  const before = left(space, wide);
  const times = (count: number) => Array.from({ length: count }, () => mark);
  return concat([...times(before), value, ...times(space - before)]);
}

/** `value.center(width)`. */
export function center(value: Str, args: Arguments): Str {
  return pad(value, args, 'center', (space, width) => Math.floor(space / 2) + (space & width & 1));
}

function partition(value: Str, args: Arguments, name: string, last: boolean): Value {
  const separator = string(bindPositional(name, args, 1, 1)[0], 'must be str: the separator');
  if (separator === '') fail('empty separator');
  searched(separator);
  const text = plain(value);
  const at = last ? text.lastIndexOf(separator) : text.indexOf(separator);
  if (at < 0) return new Tuple(last ? ['', '', value] : [value, '', '']);
  const end = at + separator.length;
  return new Tuple([cut(value, 0, at), cut(value, at, end), cut(value, end)]);
}

function trimmed(value: Str, args: Arguments, name: string, left: boolean, right: boolean): Str {
  const [chars] = bindPositional(name, args, 0, 1);
  const set = chars === undefined || chars === null ? null : string(chars, `${name} arg`);
  return strip(value, set, left, right);
}

function splitBy(value: Str, args: Arguments, name: string, by: typeof split): Value {
  const [separator, limit] = bind(name, args, ['sep', 'maxsplit'], 0);
  const mark =
    separator === undefined || separator === null ? null : string(separator, 'the separator');
  return new List(by(value, mark, integer(limit, -1)));
}

function join(value: Str, args: Arguments): Str {
  const [items] = bindPositional('join', args, 1, 1);
  const parts: Str[] = [];
  let i = 0;
  for (const item of iterate(items ?? null)) {
    if (!isStr(item)) fail(`sequence item ${i}: expected str instance, ${typeName(item)} found`);
    parts.push(...(i++ === 0 ? [item] : [value, item]));
  }
  return concat(parts);
}

/** Whether a text is not empty and all its characters match. */
const every = (pattern: RegExp) => (value: Str, args: Arguments, name: string) => {
  bindPositional(name, args, 0, 0);
  return pattern.test(plain(value));
};

/** Whether there is a cased character and none of the wrong case. */
function cased(value: Str, wrong: RegExp, right: RegExp): boolean {
  const text = plain(value);
  return !wrong.test(text) && right.test(text);
}
export const isLower = (value: Str): boolean => cased(value, /[\p{Lu}\p{Lt}]/u, /\p{Lowercase}/u);
export const isUpper = (value: Str): boolean => cased(value, /[\p{Ll}\p{Lt}]/u, /\p{Uppercase}/u);

type Method = (value: Str, args: Arguments, name: string) => Value;

const simple =
  (change: (value: Str) => Value): Method =>
  (value, args, name) => {
    bindPositional(name, args, 0, 0);
    return change(value);
  };

function affix(value: Str, args: Arguments, name: string, end: boolean): boolean {
  const [what, start, stop] = bindPositional(name, args, 1, 3);
  const inside = plain(stretch(value, start, stop));
  if ((optionalInteger(start) ?? 0) > codePoints(plain(value))) return false;
  return affixes(what, name).some((one) => (end ? inside.endsWith(one) : inside.startsWith(one)));
}

function withoutAffix(value: Str, args: Arguments, name: string, end: boolean): Str {
  const one = string(bindPositional(name, args, 1, 1)[0], `${name}() argument`);
  const text = plain(value);
  if (end)
    return one !== '' && text.endsWith(one) ? cut(value, 0, text.length - one.length) : value;
  return text.startsWith(one) ? cut(value, one.length) : value;
}

function zeroFilled(value: Str, args: Arguments): Str {
  const width = sizeOf(bindPositional('zfill', args, 1, 1)[0], 0);
  const sign = /^[+-]/.test(plain(value)) ? 1 : 0;
  const zeros = '0'.repeat(Math.max(0, width - codePoints(plain(value))));
  return concat([cut(value, 0, sign), zeros, cut(value, sign)]);
}

function found(at: number): bigint {
  return at < 0 ? fail('substring not found') : BigInt(at);
}

function count(value: Str, args: Arguments): bigint {
  const [what, start, stop] = bindPositional('count', args, 1, 3);
  const search = string(what, 'count() argument 1');
  searched(search);
  const inside = plain(stretch(value, start, stop));
  return BigInt(search === '' ? codePoints(inside) + 1 : inside.split(search).length - 1);
}

function replaced(value: Str, args: Arguments): Str {
  const [old, by, times] = bindPositional('replace', args, 2, 3);
  string(old, 'replace() argument 1');
  string(by, 'replace() argument 2');
  return replace(value, old as Str, by as Str, integer(times, -1));
}

const titled = (value: Str): Str =>
  changed(value, (text) =>
    text.replace(/[\p{Lu}\p{Ll}\p{Lt}]+/gu, (word) => {
      const [first = '', ...rest] = [...word];
      return title(first) + rest.join('').toLowerCase();
    }),
  );

const swapped = (value: Str): Str =>
  changed(value, (text) =>
    text.replace(/\p{L}/gu, (letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    ),
  );

export const STRING_METHODS: Readonly<Record<string, Method>> = {
  capitalize: simple(capitalize),
  center: (value, args) => center(value, args),
  count: (value, args) => count(value, args),
  endswith: (value, args, name) => affix(value, args, name, true),
  find: (value, args, name) => BigInt(find(value, args, name, false)),
  index: (value, args, name) => found(find(value, args, name, false)),
  isalnum: every(/^[\p{L}\p{N}]+$/u),
  isalpha: every(/^\p{L}+$/u),
  isascii: every(/^\p{ASCII}*$/u),
  isdecimal: every(/^\p{Nd}+$/u),
  isdigit: every(/^[\p{Nd}²³¹⁰⁴-⁹₀-₉①-⑨]+$/u),
  isidentifier: every(/^[\p{ID_Start}_]\p{ID_Continue}*$/u),
  islower: simple(isLower),
  isspace: every(new RegExp(`^[${SPACE}]+$`)),
  isupper: simple(isUpper),
  join: (value, args) => join(value, args),
  ljust: (value, args, name) => pad(value, args, name, () => 0),
  lower: simple(lower),
  lstrip: (value, args, name) => trimmed(value, args, name, true, false),
  partition: (value, args, name) => partition(value, args, name, false),
  removeprefix: (value, args, name) => withoutAffix(value, args, name, false),
  removesuffix: (value, args, name) => withoutAffix(value, args, name, true),
  replace: (value, args) => replaced(value, args),
  rfind: (value, args, name) => BigInt(find(value, args, name, true)),
  rindex: (value, args, name) => found(find(value, args, name, true)),
  rjust: (value, args, name) => pad(value, args, name, (space) => space),
  rpartition: (value, args, name) => partition(value, args, name, true),
  rsplit: (value, args, name) => splitBy(value, args, name, splitFromRight),
  rstrip: (value, args, name) => trimmed(value, args, name, false, true),
  split: (value, args, name) => splitBy(value, args, name, split),
  splitlines: (value, args, name) =>
    new List(splitLines(value, boolean(bind(name, args, ['keepends'], 0)[0], false))),
  startswith: (value, args, name) => affix(value, args, name, false),
  strip: (value, args, name) => trimmed(value, args, name, true, true),
  swapcase: simple(swapped),
  title: simple(titled),
  upper: simple(upper),
  zfill: (value, args) => zeroFilled(value, args),
};

/** Methods of str that are missing here. */
export const OTHER_STRING_METHODS: ReadonlySet<string> = new Set(
  'casefold encode expandtabs isnumeric isprintable istitle maketrans translate'.split(' '),
);
