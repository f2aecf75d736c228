/** Jinja's filters, `value | name(arguments)`, by name; `tojson` is the one of transformers. */
import { getAttributeAlone, getItem } from './access.ts';
import { bind, boolean, integer, optionalInteger, sizeOf } from './arguments.ts';
import { metered, spend, uncounted } from './budget.ts';
import { fail, unsupported } from './failure.ts';
import { percent } from './format.ts';
import { fixed, readFloat, readInteger, truncated } from './numbers.ts';
import { binary } from './operators.ts';
import { type JsonStyle, toJson, toStr } from './print.ts';
import { capitalize, center, replace, SPACE, sliceStr, splitLines, strip } from './strings.ts';
import { TESTS } from './tests.ts';
import { asSafe, changed, concat, cut, escaped, isSafe, isStr, plain, type Str } from './text.ts';
import {
  type Arguments,
  codePoints,
  compare,
  Dict,
  equal,
  Generator,
  hashOf,
  iterate,
  List,
  lengthOf,
  look,
  lookAt,
  orElse,
  Range,
  Tuple,
  truth,
  typeName,
  Undefined,
  type Value,
  View,
  whole,
} from './values.ts';

export type Filter = (value: Value, args: Arguments, name: string) => Value;

/** Apply the filter with this name. */
export function applyFilter(name: string, value: Value, args: Arguments): Value {
  const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
  if (!COUNTED.has(name)) uncounted();
  look(value);
  lookAt(args);
  return filter === undefined ? fail(`No filter named '${name}'.`) : filter(value, args, name);
}

/** Apply the test with this name. */
export function applyTest(name: string, value: Value, args: Arguments): boolean {
  const test = Object.hasOwn(TESTS, name) ? TESTS[name] : undefined;
  look(value);
  lookAt(args);
  return test === undefined ? fail(`No test named '${name}'.`) : test(value, args, name);
}

const NOTHING: Arguments = { positional: [], named: new Map() };

const lower = (value: Value): Value =>
  isStr(value) ? changed(value, (t) => t.toLowerCase()) : value;

/** A text filter without arguments; other values are converted to text first. */
const ofText =
  (change: (value: Str) => Str): Filter =>
  (value, args, name) => {
    bind(name, args, [], 0);
    const made = change(toStr(value));
    return isSafe(value) ? asSafe(made) : made;
  };

/** The items of a filter whose result can be gone through once. */
const lazily =
  (items: (value: Value, args: Arguments, name: string) => Iterable<Value>): Filter =>
  (value, args, name) =>
    new Generator(items(value, args, name));

/** Parts of a path that each item can follow without being counted. */
const PATH_MAX = 8;

/** `a.b.0` as the path of an item. */
function pathOf(attribute: Value): readonly Value[] {
  if (attribute === null) return [];
  if (!isStr(attribute)) return [attribute];
  const parts = plain(attribute).split('.');
  if (parts.length > PATH_MAX) uncounted();
  return parts.map((part) => (/^\d+$/.test(part) ? BigInt(part) : part));
}

function follow(value: Value, path: readonly Value[], otherwise: Value = null): Value {
  let found = value;
  for (const part of path) {
    found = getItem(found, part);
    if (otherwise !== null && found instanceof Undefined) found = otherwise;
  }
  return found;
}

function* mapped(value: Value, args: Arguments): Iterable<Value> {
  if (!truth(value)) return;
  const each = mapping(args);
  for (const item of iterate(value)) yield each(item);
}

function mapping({ positional, named }: Arguments): (item: Value) => Value {
  const [name, ...rest] = positional;
  if (name === undefined && named.has('attribute')) {
    const [attribute, otherwise] = bind('map', { positional, named }, ['attribute', 'default'], 1);
    const path = pathOf(attribute ?? null);
    return (item) => follow(item, path, otherwise ?? null);
  }
  if (name === undefined) return fail('map requires a filter argument');
  return (item) => applyFilter(plain(toStr(name)), item, { positional: rest, named });
}

const chosen = (byAttribute: boolean, keep: boolean): Filter =>
  lazily(function* (value, args, name) {
    if (!truth(value)) return;
    const [first, ...others] = args.positional;
    if (byAttribute && first === undefined) fail(`${name}: Missing parameter for attribute name`);
    const path = byAttribute ? pathOf(first ?? null) : [];
    const [test, ...rest] = byAttribute ? others : args.positional;
    for (const item of iterate(value)) {
      const found = follow(item, path);
      const passes =
        test === undefined
          ? truth(found)
          : applyTest(plain(toStr(test)), found, { positional: rest, named: args.named });
      if (passes === keep) yield item;
    }
  });

function sorted(
  items: Iterable<Value>,
  key: (item: Value) => Value,
  reverse: boolean,
): readonly Value[] {
  const keyed = [...items].map((item) => ({ item, key: key(item) }));
  const sign = reverse ? -1 : 1;
  return keyed.sort((a, b) => sign * compare(a.key, b.key, '<')).map(({ item }) => item);
}

/** The key by which `sort`, `unique`, `min`, `max` and `groupby` compare an item. */
function keyOf(attribute: Value, caseSensitive: boolean): (item: Value) => Value {
  const path = pathOf(attribute);
  return (item) => (caseSensitive ? follow(item, path) : lower(follow(item, path)));
}

function sort(value: Value, args: Arguments): Value {
  const [reverse, sensitive, attribute = null] = bind(
    'sort',
    args,
    ['reverse', 'case_sensitive', 'attribute'],
    0,
  );
  const several: readonly Value[] = isStr(attribute) ? plain(attribute).split(',') : [attribute];
  const keys = several.map((one) => keyOf(one, boolean(sensitive, false)));
  const key = (item: Value) => new List(keys.map((each) => each(item)));
  return new List(sorted(iterate(value), key, boolean(reverse, false)));
}

function dictsort(value: Value, args: Arguments): Value {
  const [sensitive, by, reverse] = bind('dictsort', args, ['case_sensitive', 'by', 'reverse'], 0);
  const which = by === undefined ? 'key' : plain(toStr(by));
  if (which !== 'key' && which !== 'value') fail('You can only sort by either "key" or "value"');
  if (value instanceof Undefined) return fail(value.message);
  if (!(value instanceof Dict)) return fail(`'${typeName(value)}' object has no attribute 'items'`);
  const pairs = [...value.entries.values()].map((pair) => new Tuple(pair));
  const key = (pair: Value) => {
    const item = (pair as Tuple).items[which === 'key' ? 0 : 1] ?? null;
    return boolean(sensitive, false) ? item : lower(item);
  };
  return new List(sorted(pairs, key, boolean(reverse, false)));
}

const extreme =
  (sign: number): Filter =>
  (value, args, name) => {
    const [sensitive, attribute = null] = bind(name, args, ['case_sensitive', 'attribute'], 0);
    const key = keyOf(attribute, boolean(sensitive, false));
    let best: Value | undefined;
    for (const item of iterate(value))
      if (best === undefined || sign * compare(key(item), key(best), '<') < 0) best = item;
    return orElse(best, () => new Undefined('No aggregated item, sequence was empty.'));
  };

function* unique(value: Value, args: Arguments): Iterable<Value> {
  const [sensitive, attribute = null] = bind('unique', args, ['case_sensitive', 'attribute'], 0);
  const key = keyOf(attribute, boolean(sensitive, false));
  const seen = new Set<unknown>();
  for (const item of iterate(value)) {
    const hash = hashOf(key(item));
    if (seen.has(hash)) continue;
    seen.add(hash);
    yield item;
  }
}

function groupby(value: Value, args: Arguments): Value {
  const [attribute = null, otherwise = null, sensitive] = bind(
    'groupby',
    args,
    ['attribute', 'default', 'case_sensitive'],
    1,
  );
  const path = pathOf(attribute);
  const found = (item: Value) => follow(item, path, otherwise);
  const key = (item: Value) => (boolean(sensitive, false) ? found(item) : lower(found(item)));
  const groups: { key: Value; items: Value[] }[] = [];
  for (const item of sorted(iterate(value), key, false)) {
    const last = groups.at(-1);
    if (last !== undefined && equal(last.key, key(item))) last.items.push(item);
    else groups.push({ key: key(item), items: [item] });
  }
  const named = groups.map(({ items }) => new Tuple([found(items[0] ?? null), new List(items)]));
  return new List(named);
}

function join(value: Value, args: Arguments): Value {
  const [separator = '', attribute = null] = bind('join', args, ['d', 'attribute'], 0);
  const path = pathOf(attribute);
  const parts: Str[] = [];
  for (const item of iterate(value)) {
    if (parts.length > 0) parts.push(toStr(separator));
    parts.push(toStr(follow(item, path)));
  }
  return concat(parts);
}

function indent(value: Value, args: Arguments): Value {
  const [width, first, blank] = bind('indent', args, ['width', 'first', 'blank'], 0);
  if (!isStr(value))
    return fail(`unsupported operand type(s) for +=: '${typeName(value)}' and 'str'`);
  const by =
    width !== undefined && isStr(width) ? width : ' '.repeat(Math.max(0, sizeOf(width, 4)));
  const lines = splitLines(concat([value, '\n']));
  const indented = lines.map((line, i) =>
    i === 0 || (plain(line) === '' && !boolean(blank, false)) ? line : concat([by, line]),
  );
  const joined = indented.flatMap((line, i) => (i === 0 ? [line] : ['\n', line]));
  const whole = boolean(first, false) ? [by, ...joined] : joined;
  return isSafe(value) ? asSafe(concat(whole)) : concat(whole);
}

function truncate(value: Value, args: Arguments): Value {
  const [size, kill, mark, slack] = bind(
    'truncate',
    args,
    ['length', 'killwords', 'end', 'leeway'],
    0,
  );
  if (isSafe(value)) return unsupported('truncate of a value marked safe');
  const length = integer(size, 255);
  const end: Str = mark === undefined ? '...' : toStr(mark);
  const room = length - codePoints(plain(end));
  if (room < 0) fail(`expected length >= ${codePoints(plain(end))}, got ${length}`);
  const long = lengthOf(value) ?? fail(`object of type '${typeName(value)}' has no len()`);
  if (long <= length + (optionalInteger(slack) ?? 5)) return value;
  if (!isStr(value)) return fail(`a ${typeName(value)} cannot be truncated`);
  const kept = sliceStr(value, 0, room, 1);
  const space = boolean(kill, false) ? -1 : plain(kept).lastIndexOf(' ');
  return concat([space < 0 ? kept : cut(kept, 0, space), end]);
}

function toInteger(value: Value, args: Arguments): Value {
  const [otherwise = 0n, base] = bind('int', args, ['default', 'base'], 0);
  if (value instanceof Undefined) return fail(value.message);
  if (typeof value === 'number') return Number.isNaN(value) ? otherwise : truncated(value);
  if (whole(value) !== null) return whole(value);
  if (!isStr(value)) return otherwise;
  const read = readInteger(plain(value), integer(base, 10));
  if (read !== null) return read;
  const float = readFloat(plain(value));
  return float === null || !Number.isFinite(float) ? otherwise : truncated(float);
}

function toFloat(value: Value, args: Arguments): Value {
  const [otherwise = 0] = bind('float', args, ['default'], 0);
  if (value instanceof Undefined) return fail(value.message);
  if (typeof value === 'number') return value;
  const number = whole(value);
  if (number !== null) return Number(number);
  return (isStr(value) ? readFloat(plain(value)) : null) ?? otherwise;
}

function round(value: Value, args: Arguments): Value {
  const [places, way = 'common'] = bind('round', args, ['precision', 'method'], 0);
  const digits = sizeOf(places, 0);
  const method = plain(toStr(way));
  if (!['common', 'ceil', 'floor'].includes(method)) fail('method must be common, ceil or floor');
  if (value instanceof Undefined) return fail(value.message);
  if (typeof value !== 'number' && whole(value) === null)
    return fail(`type ${typeName(value)} doesn't define __round__ method`);
  if (digits < 0) return unsupported('round to places before the point');
  if (method === 'common') {
    if (typeof value !== 'number') return whole(value);
    return Number.isFinite(value) ? Number(fixed(value, digits)) : value;
  }
  const number = typeof value === 'number' ? value : Number(whole(value));
  const scaled = number * 10 ** digits;
  // Python's floor and ceil are whole numbers, which have no -0
  const edge = (method === 'ceil' ? Math.ceil(scaled) : Math.floor(scaled)) + 0;
  return edge / 10 ** digits;
}

function* batch(value: Value, args: Arguments): Iterable<Value> {
  const [size, fill = null] = bind('batch', args, ['linecount', 'fill_with'], 1);
  const most = sizeOf(size, 0);
  let line: Value[] = [];
  for (const item of iterate(value)) {
    if (line.length === most) {
      yield new List(line);
      line = [];
    }
    line.push(item);
  }
  if (line.length === 0) return;
  const missing = fill === null ? 0 : Math.max(0, most - line.length);
  yield new List([...line, ...Array.from({ length: missing }, () => fill)]);
}

function* slices(value: Value, args: Arguments): Iterable<Value> {
  const [number, fill = null] = bind('slice', args, ['slices', 'fill_with'], 1);
  const items = [...iterate(value)];
  const many = sizeOf(number, 0);
  if (many === 0) fail('integer division or modulo by zero');
  const size = Math.floor(items.length / many);
  const longer = items.length % many;
  let start = 0;
  for (let i = 0; i < many; i++) {
    const end = start + size + (i < longer ? 1 : 0);
    const slice = items.slice(start, end);
    yield new List(fill !== null && i >= longer ? [...slice, fill] : slice);
    start = end;
  }
}

/** `reversed`, for the types that it takes. */
function backwards(value: Value): readonly Value[] | null {
  const reversible =
    isStr(value) ||
    [List, Tuple, Dict, View, Range, Undefined].some((kind) => value instanceof kind);
  return reversible ? [...iterate(value)].reverse() : null;
}

function first(value: Value, args: Arguments): Value {
  bind('first', args, [], 0);
  for (const item of iterate(value)) return item;
  return new Undefined('No first item, sequence was empty.');
}

function last(value: Value, args: Arguments): Value {
  bind('last', args, [], 0);
  const items = backwards(value) ?? fail(`'${typeName(value)}' object is not reversible`);
  return orElse(items[0], () => new Undefined('No last item, sequence was empty.'));
}

function reverse(value: Value, args: Arguments): Value {
  bind('reverse', args, [], 0);
  if (isStr(value)) return sliceStr(value, null, null, -1);
  const items = backwards(value);
  return items === null ? new List([...iterate(value)].reverse()) : new Generator(items);
}

function length(value: Value, args: Arguments, name: string): Value {
  bind(name, args, [], 0);
  return BigInt(lengthOf(value) ?? fail(`object of type '${typeName(value)}' has no len()`));
}

function* items(value: Value, args: Arguments): Iterable<Value> {
  bind('items', args, [], 0);
  if (value instanceof Undefined) return;
  if (!(value instanceof Dict)) fail('Can only get item pairs from a mapping.');
  yield* iterate(new View('items', value));
}

function otherwise(value: Value, args: Arguments): Value {
  const [other = '', empty] = bind('default', args, ['default_value', 'boolean'], 0);
  return value instanceof Undefined || (boolean(empty, false) && !truth(value)) ? other : value;
}

function total(value: Value, args: Arguments): Value {
  const [attribute = null, start = 0n] = bind('sum', args, ['attribute', 'start'], 0);
  if (isStr(start)) fail("sum() can't sum strings [use ''.join(seq) instead]");
  const path = pathOf(attribute);
  let sum: Value = start;
  for (const item of iterate(value)) sum = binary('+', sum, follow(item, path));
  return sum;
}

function trim(value: Value, args: Arguments): Value {
  const [chars = null] = bind('trim', args, ['chars'], 0);
  if (chars !== null && !isStr(chars)) fail('strip arg must be None or str');
  const made = strip(toStr(value), chars === null ? null : plain(chars as Str));
  return isSafe(value) ? asSafe(made) : made;
}

function title(value: Value, args: Arguments): Value {
  bind('title', args, [], 0);
  const words = new RegExp(`[^-${SPACE}({[<]+`, 'gu');
  return changed(toStr(value), (text) =>
    text.replace(words, (word) => {
      const [head = '', ...rest] = [...word];
      return head.toUpperCase() + rest.join('').toLowerCase();
    }),
  );
}

const style = (value: Value | undefined): JsonStyle['separators'] | null => {
  if (value === undefined || value === null) return null;
  const [item, key, ...more] = [...iterate(value)];
  if (item === undefined || key === undefined || more.length > 0)
    return fail('separators must be two strings');
  return [toStr(item), toStr(key)];
};

function tojson(value: Value, args: Arguments): Value {
  const [ascii, width = null, separators, sortKeys] = bind(
    'tojson',
    args,
    ['ensure_ascii', 'indent', 'separators', 'sort_keys'],
    0,
  );
  const by =
    width === null ? null : isStr(width) ? plain(width) : ' '.repeat(Math.max(0, sizeOf(width, 0)));
  if (by !== null && by.length > INDENT_MAX) uncounted();
  const how = {
    ensureAscii: boolean(ascii, false),
    indent: by,
    separators: style(separators) ?? ([by === null ? ', ' : ',', ': '] as const),
    sortKeys: boolean(sortKeys, false),
  };
  if (!(value instanceof Dict) || how.separators.some((one) => typeof one !== 'string'))
    return toJson(value, how);
  return written(value, how);
}

/** Anything wider costs more than the items it precedes. */
const INDENT_MAX = 16;

interface Written {
  readonly text: Str;
  readonly work: number;
}
const texts = new WeakMap<Dict, Map<string, Written>>();

/** A dict never changes, so its JSON is written once; each time costs the same work. */
function written(value: Dict, how: JsonStyle): Str {
  const known = texts.get(value) ?? new Map<string, Written>();
  const key = JSON.stringify(how);
  const before = known.get(key);
  if (before !== undefined) {
    spend(before.work);
    return before.text;
  }
  const { result: text, work } = metered(() => toJson(value, how));
  if (work !== null) texts.set(value, known.set(key, { text, work }));
  return text;
}

function format(value: Value, args: Arguments): Value {
  const { positional, named } = args;
  if (positional.length > 0 && named.size > 0)
    fail("can't handle positional and keyword arguments at the same time");
  if (isSafe(value)) unsupported('format of a value marked safe');
  return percent(toStr(value), named.size > 0 ? new Dict(named) : new Tuple(positional));
}

function absolute(value: Value, args: Arguments): Value {
  bind('abs', args, [], 0);
  if (value instanceof Undefined) return fail(value.message);
  if (typeof value === 'number') return Math.abs(value);
  const number = whole(value) ?? fail(`bad operand type for abs(): '${typeName(value)}'`);
  return number < 0n ? -number : number;
}

function attr(value: Value, args: Arguments): Value {
  const [name = null] = bind('attr', args, ['name'], 1);
  return getAttributeAlone(value, plain(toStr(name)));
}

function replaced(value: Value, args: Arguments): Value {
  const [old = '', by = '', count = null] = bind('replace', args, ['old', 'new', 'count'], 2);
  return replace(toStr(value), toStr(old), toStr(by), optionalInteger(count) ?? -1);
}

function list(value: Value, args: Arguments): Value {
  bind('list', args, [], 0);
  return new List([...iterate(value)]);
}

/** Filters that visit each item once, or count what they do. */
const COUNTED: ReadonlySet<string> = new Set(
  (
    'count d default first items join last length list lower map reject rejectattr replace reverse safe select ' +
    'selectattr string tojson trim upper'
  ).split(' '),
);

const missing = (): Filter => (_, __, name) => unsupported(`the filter ${name}`);

export const FILTERS: Readonly<Record<string, Filter>> = {
  abs: absolute,
  attr,
  batch: lazily(batch),
  capitalize: ofText(capitalize),
  center: (value, args) => {
    const [width = 80n] = bind('center', args, ['width'], 0);
    return center(toStr(value), { ...NOTHING, positional: [width] });
  },
  count: length,
  d: otherwise,
  default: otherwise,
  dictsort,
  e: (value) => escaped(toStr(value)),
  escape: (value) => escaped(toStr(value)),
  filesizeformat: missing(),
  first,
  float: toFloat,
  forceescape: (value) => escaped(concat([toStr(value)])),
  format,
  groupby,
  indent,
  int: toInteger,
  items: lazily(items),
  join,
  last,
  length,
  list,
  lower: ofText((value) => changed(value, (text) => text.toLowerCase())),
  map: lazily(mapped),
  max: extreme(-1),
  min: extreme(1),
  pprint: missing(),
  random: missing(),
  reject: chosen(false, false),
  rejectattr: chosen(true, false),
  replace: replaced,
  reverse,
  round,
  safe: (value) => asSafe(toStr(value)),
  select: chosen(false, true),
  selectattr: chosen(true, true),
  slice: lazily(slices),
  sort,
  string: (value) => toStr(value),
  striptags: missing(),
  sum: total,
  title,
  tojson,
  trim,
  truncate,
  unique: lazily(unique),
  upper: ofText((value) => changed(value, (text) => text.toUpperCase())),
  urlencode: missing(),
  urlize: missing(),
  wordcount: (value) => BigInt(plain(toStr(value)).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0),
  wordwrap: missing(),
  xmlattr: missing(),
};
