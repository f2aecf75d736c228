/** Jinja's tests, `value is name(argument)`, by their names. */
import { bind } from './arguments.ts';
import { unsupported } from './failure.ts';
import { binary, compared } from './operators.ts';
import { toStr } from './print.ts';
import { isLower, isUpper } from './strings.ts';
import { isStr, plain } from './text.ts';
import {
  type Arguments,
  Callable,
  Dict,
  equal,
  isIterable,
  List,
  Loop,
  Range,
  Tuple,
  Undefined,
  type Value,
  whole,
} from './values.ts';

export type Test = (value: Value, args: Arguments, name: string) => boolean;

const alone =
  (test: (value: Value) => boolean): Test =>
  (value, args, name) => {
    bind(name, args, [], 0);
    return test(value);
  };

const withOther =
  (test: (value: Value, other: Value) => boolean): Test =>
  (value, args, name) =>
    test(value, bind(name, args, ['other'], 1)[0] ?? null);

const ordered = (operator: string): Test => withOther((a, b) => compared(operator, a, b));

function same(a: Value, b: Value): boolean {
  if (isStr(a) && isStr(b)) return plain(a) === plain(b);
  return a === b;
}

const EQUAL = ordered('==');
const GREATER = ordered('>');
const LESS = ordered('<');

export const TESTS: Readonly<Record<string, Test>> = {
  boolean: alone((value) => typeof value === 'boolean'),
  callable: alone(
    (value) => value instanceof Callable || value instanceof Loop || value instanceof Undefined,
  ),
  defined: alone((value) => !(value instanceof Undefined)),
  divisibleby: withOther((value, other) => equal(binary('%', value, other), 0n)),
  escaped: alone(() => unsupported('the test escaped')),
  even: alone((value) => equal(binary('%', value, 2n), 0n)),
  false: alone((value) => value === false),
  filter: alone(() => unsupported('the test filter')),
  float: alone((value) => typeof value === 'number'),
  in: ordered('in'),
  integer: alone((value) => typeof value === 'bigint'),
  iterable: alone(isIterable),
  lower: alone((value) => isLower(toStr(value))),
  mapping: alone((value) => value instanceof Dict),
  none: alone((value) => value === null),
  number: alone((value) => typeof value === 'number' || whole(value) !== null),
  odd: alone((value) => equal(binary('%', value, 2n), 1n)),
  sameas: withOther(same),
  sequence: alone(
    (value) =>
      isStr(value) || [List, Tuple, Dict, Range, Undefined].some((kind) => value instanceof kind),
  ),
  string: alone(isStr),
  test: alone(() => unsupported('the test test')),
  true: alone((value) => value === true),
  undefined: alone((value) => value instanceof Undefined),
  upper: alone((value) => isUpper(toStr(value))),
  '==': EQUAL,
  eq: EQUAL,
  equalto: EQUAL,
  '!=': ordered('!='),
  ne: ordered('!='),
  '>': GREATER,
  gt: GREATER,
  greaterthan: GREATER,
  '>=': ordered('>='),
  ge: ordered('>='),
  '<': LESS,
  lt: LESS,
  lessthan: LESS,
  '<=': ordered('<='),
  le: ordered('<='),
};
