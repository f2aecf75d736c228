/**
 * `value.name` and `value[key]` as Jinja's immutable sandbox looks them up: methods and fields of Python's
 * types, then items; what is missing is undefined, and whatever would change a value is out of reach.
 */
import { bindPositional, integer, optionalInteger } from './arguments.ts';
import { scan, uncounted, visit } from './budget.ts';
import { fail, unsupported } from './failure.ts';
import { formatMethod } from './format.ts';
import { repr, toStr } from './print.ts';
import {
  characterAt,
  OTHER_STRING_METHODS,
  STRING_METHODS,
  sliceBounds,
  sliceStr,
} from './strings.ts';
import { asSafe, isSafe, isStr, plain } from './text.ts';
import {
  type Arguments,
  Callable,
  Dict,
  equal,
  List,
  Loop,
  lookAt,
  Namespace,
  orElse,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
  whole,
} from './values.ts';

/** A slice inside brackets. */
export class Slice {
  readonly start: number | null;
  readonly stop: number | null;
  readonly step: number;
  constructor(start: Value, stop: Value, step: Value) {
    this.start = optionalInteger(start);
    this.stop = optionalInteger(stop);
    this.step = optionalInteger(step) ?? 1;
  }
}

const CHANGES_LIST = new Set('append clear pop reverse insert sort extend remove'.split(' '));
const CHANGES_DICT = new Set('clear pop popitem setdefault update'.split(' '));
const NUMBER_METHODS = new Set(
  'as_integer_ratio bit_count bit_length conjugate denominator from_bytes fromhex hex imag numerator real to_bytes'.split(
    ' ',
  ),
);

/** A field or method of a value's type; undefined if the type has none of this name. */
function attribute(value: Value, name: string): Value | undefined {
  const unsafe = () =>
    new Undefined(`access to attribute '${name}' of '${typeName(value)}' object is unsafe.`);
  if (/^__.*__$/.test(name)) return unsafe();
  scan(name.length);
  if (isStr(value)) {
    scan(plain(value).length);
    if (isSafe(value)) unsupported(`.${name} of a value marked safe`);
    if (name === 'format' || name === 'format_map')
      return new Callable(name, (args) => {
        uncounted();
        return formatMethod(value, fieldsOf(name, args), LOOKUP);
      });
    const method = Object.hasOwn(STRING_METHODS, name) ? STRING_METHODS[name] : undefined;
    if (method) return new Callable(name, (args) => method(value, args, name));
    if (OTHER_STRING_METHODS.has(name)) unsupported(`str.${name}`);
    return undefined;
  }
  if (value instanceof Dict) {
    if (CHANGES_DICT.has(name)) return unsafe();
    return dictMethod(value, name);
  }
  if (value instanceof List && CHANGES_LIST.has(name)) return unsafe();
  if (value instanceof List || value instanceof Tuple) return listMethod(value, name);
  if (value instanceof Namespace) {
    const field = value.fields.get(name);
    return field !== undefined && name.startsWith('_') ? unsafe() : field;
  }
  if (value instanceof Loop)
    return Object.hasOwn(value.fields, name) ? value.fields[name]?.() : undefined;
  if (value instanceof Range && (name === 'start' || name === 'stop' || name === 'step'))
    return value[name];
  if (value instanceof View && name === 'mapping') return unsupported('mapping of a view');
  if (typeof value === 'number' && name === 'is_integer')
    return new Callable(name, (args) => {
      bindPositional(name, args, 0, 0);
      return Number.isInteger(value);
    });
  if ((typeof value === 'number' || whole(value) !== null) && NUMBER_METHODS.has(name))
    return unsupported(`${typeName(value)}.${name}`);
  if (value instanceof Callable) return unsupported(`a field of the function ${value.name}`);
  return undefined;
}

const LOOKUP = { attribute: getAttribute, item: getItem };

/** The fields that `format` or `format_map` fills in. */
function fieldsOf(name: string, args: Arguments): Arguments {
  if (name === 'format') return args;
  const [fields] = bindPositional(name, args, 1, 1);
  if (!(fields instanceof Dict)) return unsupported('format_map of a value that is not a dict');
  const entries = [...fields.entries.values()];
  const named = entries.map(([key, value]) => [plain(toStr(key)), value] as const);
  return { positional: [], named: new Map(named) };
}

function dictMethod(dict: Dict, name: string): Value | undefined {
  if (name === 'keys' || name === 'values' || name === 'items')
    return new Callable(name, (args) => {
      bindPositional(name, args, 0, 0);
      return new View(name, dict);
    });
  if (name === 'get')
    return new Callable(name, (args) => {
      const [key, otherwise = null] = bindPositional(name, args, 1, 2);
      return orElse(dict.get(key ?? null), () => otherwise);
    });
  if (name === 'copy')
    return new Callable(name, (args) => {
      bindPositional(name, args, 0, 0);
      return new Dict(dict.entries.values());
    });
  return name === 'fromkeys' ? unsupported('dict.fromkeys') : undefined;
}

function listMethod(list: List | Tuple, name: string): Value | undefined {
  visit(list.items.length);
  if (name === 'copy' && list instanceof List)
    return new Callable(name, (args) => {
      bindPositional(name, args, 0, 0);
      return new List(list.items);
    });
  if (name === 'count')
    return new Callable(name, (args) => {
      const [item = null] = bindPositional(name, args, 1, 1);
      return BigInt(list.items.filter((each) => equal(each, item)).length);
    });
  if (name === 'index')
    return new Callable(name, (args) => {
      const [item = null, start, stop] = bindPositional(name, args, 1, 3);
      const [first, end] = sliceBounds(
        list.items.length,
        integer(start, 0),
        optionalInteger(stop),
        1,
      );
      const at = list.items.slice(first, end).findIndex((each) => equal(each, item));
      return at < 0 ? fail(`${plain(repr(item))} is not in list`) : BigInt(first + at);
    });
  return undefined;
}

/** An item of a sequence or a mapping; undefined if there is none. */
function item(value: Value, key: Value): Value | undefined {
  if (value instanceof Dict) {
    if (key instanceof List || key instanceof Dict) return undefined;
    return value.get(key);
  }
  const at = whole(key);
  if (at === null) return undefined;
  const index = Number(at);
  if (isStr(value)) {
    const character = characterAt(value, index) ?? undefined;
    return character !== undefined && isSafe(value) ? asSafe(character) : character;
  }
  if (value instanceof List || value instanceof Tuple) return value.items.at(index);
  if (!(value instanceof Range)) return undefined;
  const place = index < 0 ? index + value.length : index;
  return place < 0 || place >= value.length ? undefined : value.at(place);
}

function missing(value: Value, key: Value): Undefined {
  if (isStr(key)) return new Undefined(`'${describe(value)}' has no attribute '${plain(key)}'`);
  return new Undefined(`${describe(value)} has no element ${plain(repr(key))}`);
}

function describe(value: Value): string {
  return value === null ? 'None' : `${typeName(value)} object`;
}

/** `value.name`. */
export function getAttribute(value: Value, name: string): Value {
  if (value instanceof Undefined) fail(value.message);
  return orElse(attribute(value, name), () =>
    orElse(item(value, name), () => missing(value, name)),
  );
}

/** The filter `attr`: a field or method, never an item. */
export function getAttributeAlone(value: Value, name: string): Value {
  if (value instanceof Undefined) fail(value.message);
  return orElse(attribute(value, name), () => missing(value, name));
}

/** `value[key]`. */
export function getItem(value: Value, key: Value): Value {
  if (value instanceof Undefined) fail(value.message);
  const found = item(value, key);
  if (found !== undefined) return found;
  return orElse(isStr(key) ? attribute(value, plain(key)) : undefined, () => missing(value, key));
}

/** `value[start:stop:step]`. */
export function getSlice(value: Value, { start, stop, step }: Slice): Value {
  if (value instanceof Undefined) fail(value.message);
  if (isStr(value)) {
    const cut = sliceStr(value, start, stop, step);
    return isSafe(value) ? asSafe(cut) : cut;
  }
  if (value instanceof List || value instanceof Tuple) {
    const [first, end] = sliceBounds(value.items.length, start, stop, step);
    const picked: Value[] = [];
    for (let i = first; step > 0 ? i < end : i > end; i += step)
      picked.push(value.items[i] ?? null);
    return value instanceof List ? new List(picked) : new Tuple(picked);
  }
  if (value instanceof Range) {
    const [first, end] = sliceBounds(value.length, start, stop, step);
    return new Range(value.at(first), value.at(end), value.step * BigInt(step));
  }
  if (value instanceof Dict) return fail("unhashable type: 'slice'");
  return fail(`'${typeName(value)}' object is not subscriptable`);
}

/** The result of calling a value. */
export function callValue(value: Value, args: Arguments): Value {
  if (value instanceof Undefined) return fail(value.message);
  lookAt(args);
  if (value instanceof Callable) return value.call(args);
  if (value instanceof Loop)
    return value.recurse === null
      ? fail("The loop must have the 'recursive' marker to be called recursively.")
      : value.recurse(args);
  return fail(`'${typeName(value)}' object is not callable`);
}
