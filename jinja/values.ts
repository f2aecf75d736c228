/**
 * The values of a template, with Python's semantics.
 *
 * int is a bigint, float is a number, None is null, str is a `Str`; the rest are the classes below. What
 * Python decides by type (truth, equality, order, length, iteration) is decided here.
 */
import { deeper, scan, spend, spendText, uncounted, visit } from './budget.ts';
import { fail, unsupported } from './failure.ts';
import { cut, isStr, plain, type Str } from './text.ts';

export type Value =
  | null
  | boolean
  | bigint
  | number
  | Str
  | List
  | Tuple
  | Dict
  | View
  | Range
  | Generator
  | Undefined
  | Namespace
  | Callable
  | Loop;

export class List {
  readonly items: readonly Value[];
  constructor(items: readonly Value[]) {
    spend(items.length);
    this.items = items;
  }
}

export class Tuple {
  readonly items: readonly Value[];
  constructor(items: readonly Value[]) {
    spend(items.length);
    this.items = items;
  }
}

/** In insertion order. */
export class Dict {
  readonly entries = new Map<string | Value, readonly [Value, Value]>();

  constructor(pairs: Iterable<readonly [Value, Value]> = []) {
    for (const [key, value] of pairs) {
      spend();
      const hash = hashOf(key);
      const before = this.entries.get(hash);
      // an existing key keeps its place and its first spelling
      this.entries.set(hash, [before === undefined ? key : before[0], value]);
    }
  }

  get(key: Value): Value | undefined {
    return this.entries.get(hashOf(key))?.[1];
  }
}

/** The result of `dict.keys()`, `.values()` and `.items()`. */
export class View {
  readonly kind: 'keys' | 'values' | 'items';
  readonly dict: Dict;
  constructor(kind: View['kind'], dict: Dict) {
    this.kind = kind;
    this.dict = dict;
  }
}

export class Range {
  readonly start: bigint;
  readonly stop: bigint;
  readonly step: bigint;
  readonly length: number;

  constructor(start: bigint, stop: bigint, step: bigint) {
    if (step === 0n) fail('range() arg 3 must not be zero');
    this.start = start;
    this.stop = stop;
    this.step = step;
    const span = step > 0n ? stop - start : start - stop;
    const size = step > 0n ? step : -step;
    const length = span <= 0n ? 0n : (span + size - 1n) / size;
    if (length > 100_000n)
      fail('Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).');
    this.length = Number(length);
  }

  at(index: number): bigint {
    return this.start + this.step * BigInt(index);
  }
}

/** Items that can be read once, as most filters of sequences return them. */
export class Generator {
  readonly iterator: Iterator<Value>;
  constructor(items: Iterable<Value>) {
    const iterator = items[Symbol.iterator]();
    // without `return`: a reader that stops early leaves the rest to the next
    this.iterator = { next: () => deeper(() => iterator.next()) };
  }
}

/** The value of a missing name or field: it prints as nothing and fails when it is used. */
export class Undefined {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

export class Namespace {
  readonly fields = new Map<string, Value>();
}

/** The arguments of a call. */
export interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

export class Callable {
  readonly name: string;
  readonly call: (args: Arguments) => Value;
  constructor(name: string, call: (args: Arguments) => Value) {
    this.name = name;
    this.call = call;
  }
}

/** The `loop` of a for block; its fields are functions of its position. */
export class Loop {
  readonly fields: Readonly<Record<string, () => Value>>;
  readonly recurse: ((args: Arguments) => Value) | null;
  constructor(fields: Loop['fields'], recurse: Loop['recurse']) {
    this.fields = fields;
    this.recurse = recurse;
  }
}

/** `value`, or the result of `other` if it is undefined; None is a value. */
export function orElse(value: Value | undefined, other: () => Value): Value {
  return value === undefined ? other() : value;
}

const WORD = 2n ** 63n;

/** Counts a value that an operation may read once; what its items contain is not counted. */
export function look(value: Value): void {
  if (typeof value === 'string') scan(value.length);
  else if (typeof value === 'bigint') {
    if (value > WORD || value < -WORD) uncounted();
  } else if (typeof value === 'object' && value !== null) {
    if (isStr(value)) scan(value.text.length);
    else if (value instanceof List || value instanceof Tuple) visit(value.items.length);
    else if (value instanceof Dict) visit(value.entries.size);
    else if (value instanceof View) visit(value.dict.entries.size);
    else if (value instanceof Range) visit(value.length);
  }
}

/** Counts the arguments of a call the same way. */
export function lookAt({ positional, named }: Arguments): void {
  for (const value of positional) look(value);
  for (const value of named.values()) look(value);
}

/** How long a search for a longer text than this takes does not follow from its length alone. */
const NEEDLE_MAX = 256;

/** Counts a search for `what`, wherever. */
export function searched(what: string): void {
  if (what.length > NEEDLE_MAX) uncounted();
}

/** The Python name of a value's type. */
export function typeName(value: Value): string {
  if (value === null) return 'NoneType';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'float';
  if (isStr(value)) return 'str';
  if (value instanceof List) return 'list';
  if (value instanceof Tuple) return 'tuple';
  if (value instanceof Dict) return 'dict';
  if (value instanceof View) return `dict_${value.kind}`;
  if (value instanceof Range) return 'range';
  if (value instanceof Generator) return 'generator';
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Namespace) return 'Namespace';
  if (value instanceof Loop) return 'LoopContext';
  return 'function';
}

/** The integer behind an int or a bool. */
export function whole(value: Value): bigint | null {
  if (typeof value === 'bigint') return value;
  return typeof value === 'boolean' ? BigInt(value) : null;
}

/** A number for comparison: ints stay exact. */
function numeric(value: Value): bigint | number | null {
  return typeof value === 'number' ? value : whole(value);
}

export function truth(value: Value): boolean {
  if (value === null || value instanceof Undefined) return false;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return value !== 0n;
  if (typeof value === 'number') return value !== 0;
  const length = lengthOf(value);
  return length === null || length > 0;
}

/** `len`, or null for values without a length. */
export function lengthOf(value: Value): number | null {
  if (isStr(value)) return codePoints(plain(value));
  if (value instanceof List || value instanceof Tuple) return value.items.length;
  if (value instanceof Dict) return value.entries.size;
  if (value instanceof View) return value.dict.entries.size;
  if (value instanceof Range) return value.length;
  if (value instanceof Undefined) return 0;
  if (value instanceof Loop) return Number(value.fields.length?.());
  return null;
}

export function codePoints(text: string): number {
  spendText(text.length);
  let count = text.length;
  for (let i = 0; i + 1 < text.length; i++)
    if (isPair(text, i)) {
      count--;
      i++;
    }
  return count;
}

export function isPair(text: string, i: number): boolean {
  const [high, low] = [text.charCodeAt(i), text.charCodeAt(i + 1)];
  return high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000;
}

/** The key under which a dict or a set keeps a value: equal values have equal keys. */
export function hashOf(value: Value): string | Value {
  visit(1);
  if (isStr(value)) {
    scan(plain(value).length);
    return `s${plain(value)}`;
  }
  if (value === null) return 'n';
  const number = numeric(value);
  if (number !== null)
    return Number.isNaN(number) ? value : `i${Number.isInteger(number) ? BigInt(number) : number}`;
  if (value instanceof Tuple)
    return `t${JSON.stringify(value.items.map((item) => deeper(() => hashText(item))))}`;
  if (value instanceof Undefined) return 'u';
  if (value instanceof List || value instanceof Dict || value instanceof View)
    fail(`unhashable type: '${typeName(value)}'`);
  return value;
}

function hashText(value: Value): string {
  const hash = hashOf(value);
  return typeof hash === 'string' ? hash : unsupported(`a ${typeName(value)} in a tuple as a key`);
}

export function equal(a: Value, b: Value): boolean {
  visit(1);
  if (a === b) return !Number.isNaN(a);
  if (isStr(a)) {
    if (!isStr(b) || plain(a).length !== plain(b).length) return false;
    scan(plain(a).length);
    return plain(a) === plain(b);
  }
  const [x, y] = [numeric(a), numeric(b)];
  // biome-ignore lint/suspicious/noDoubleEquals: an int and a float are compared by value, exactly
  if (x !== null) return y !== null && x == y;
  if (a instanceof List) return b instanceof List && equalItems(a.items, b.items);
  if (a instanceof Tuple) return b instanceof Tuple && equalItems(a.items, b.items);
  if (a instanceof Undefined) return b instanceof Undefined;
  if (a instanceof Dict) {
    if (!(b instanceof Dict) || a.entries.size !== b.entries.size) return false;
    return deeper(() =>
      [...a.entries].every(([hash, [, value]]) => {
        const other = b.entries.get(hash);
        return other !== undefined && equal(value, other[1]);
      }),
    );
  }
  if (a instanceof Range && b instanceof Range) return equalItems([...iterate(a)], [...iterate(b)]);
  if (a instanceof View && b instanceof View && a.kind !== 'values')
    return unsupported('comparing views of dicts');
  return false;
}

function equalItems(a: readonly Value[], b: readonly Value[]): boolean {
  return a.length === b.length && deeper(() => a.every((item, i) => equal(item, b[i] ?? null)));
}

/** Negative, zero or positive as `a` sorts against `b`; NaN if neither holds. Fails across types. */
export function compare(a: Value, b: Value, operator: string): number {
  for (const side of [a, b]) if (side instanceof Undefined) fail(side.message);
  if (isStr(a) && isStr(b)) return compareText(plain(a), plain(b));
  const [x, y] = [numeric(a), numeric(b)];
  if (x !== null && y !== null) return x < y ? -1 : x > y ? 1 : x === y || x >= y ? 0 : Number.NaN;
  if ((a instanceof List && b instanceof List) || (a instanceof Tuple && b instanceof Tuple)) {
    for (const [i, item] of a.items.entries()) {
      const other = b.items[i];
      if (other === undefined) return 1;
      if (!equal(item, other)) return deeper(() => compare(item, other, operator));
    }
    return a.items.length - b.items.length;
  }
  return fail(
    `'${operator}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`,
  );
}

/** By code points. */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  scan(length);
  for (let i = 0; i < length; i++)
    if (a.charCodeAt(i) !== b.charCodeAt(i)) {
      // the first unit that differs may be the second of a pair; then the first ones are equal
      const [x, y] = [a.codePointAt(i) ?? 0, b.codePointAt(i) ?? 0];
      return x - y;
    }
  return a.length - b.length;
}

/** The items that `for` iterates over. Fails for what is not iterable. */
export function iterate(value: Value): Iterable<Value> {
  if (isStr(value)) return characters(value);
  if (value instanceof List || value instanceof Tuple) return value.items;
  if (value instanceof Dict) return pairs(value, 'keys');
  if (value instanceof View) return pairs(value.dict, value.kind);
  if (value instanceof Range) return rangeItems(value);
  if (value instanceof Generator) return { [Symbol.iterator]: () => value.iterator };
  if (value instanceof Undefined) return [];
  if (value instanceof Loop) return unsupported('going through loop');
  return fail(`'${typeName(value)}' object is not iterable`);
}

export function isIterable(value: Value): boolean {
  return value instanceof Generator || value instanceof Loop || lengthOf(value) !== null;
}

function* characters(value: Str): Iterable<Value> {
  const text = plain(value);
  for (let i = 0; i < text.length; ) {
    spend();
    const size = isPair(text, i) ? 2 : 1;
    yield cut(value, i, i + size);
    i += size;
  }
}

function pairs(dict: Dict, kind: View['kind']): Value[] {
  return [...dict.entries.values()].map(([key, value]) =>
    kind === 'keys' ? key : kind === 'values' ? value : new Tuple([key, value]),
  );
}

function* rangeItems(range: Range): Iterable<Value> {
  for (let i = 0; i < range.length; i++) {
    spend();
    yield range.at(i);
  }
}

/** `item in container`. */
export function contains(container: Value, item: Value): boolean {
  if (isStr(container)) {
    if (!isStr(item)) fail(`'in <string>' requires string as left operand, not ${typeName(item)}`);
    scan(plain(container).length);
    searched(plain(item));
    return plain(container).includes(plain(item));
  }
  if (container instanceof Dict) return container.entries.has(hashOf(item));
  if (container instanceof View && container.kind === 'keys')
    return container.dict.entries.has(hashOf(item));
  if (!isIterable(container)) fail(`argument of type '${typeName(container)}' is not iterable`);
  for (const each of iterate(container)) if (equal(each, item)) return true;
  return false;
}
