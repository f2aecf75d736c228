/** The operators of expressions. */
import { spend, uncounted } from './budget.ts';
import { fail, unsupported } from './failure.ts';
import { percent } from './format.ts';
import { arithmetic } from './numbers.ts';
import { asSafe, concat, escaped, isSafe, isStr, plain, type Str } from './text.ts';
import {
  compare,
  contains,
  equal,
  List,
  look,
  Tuple,
  typeName,
  Undefined,
  type Value,
  whole,
} from './values.ts';

/** `a operator b` for `+ - * / // % **`. */
export function binary(operator: string, a: Value, b: Value): Value {
  for (const side of [a, b]) if (side instanceof Undefined) fail(side.message);
  look(a);
  look(b);
  if (operator === '**' || (operator === '%' && isStr(a))) uncounted();
  const number = arithmetic(operator, a, b);
  if (number !== null) return number;
  if (operator === '+') {
    if (isStr(a) && isStr(b)) return added(a, b);
    if (a instanceof List && b instanceof List) return new List(joined(a, b));
    if (a instanceof Tuple && b instanceof Tuple) return new Tuple(joined(a, b));
    if (isStr(a)) fail(`can only concatenate str (not "${typeName(b)}") to str`);
  }
  if (operator === '%' && isStr(a)) {
    if (isSafe(a)) unsupported('% of a value marked safe');
    return percent(a, b);
  }
  if (operator === '*') {
    const repeated = times(a, b) ?? times(b, a);
    if (repeated !== null) return repeated;
  }
  return fail(
    `unsupported operand type(s) for ${operator === '**' ? '** or pow()' : operator}: '${typeName(a)}' and '${typeName(b)}'`,
  );
}

/** Spent before the result is made. */
function joined(a: List | Tuple, b: List | Tuple): readonly Value[] {
  spend(a.items.length + b.items.length);
  return a.items.concat(b.items);
}

function added(a: Str, b: Str): Str {
  if (!isSafe(a) && !isSafe(b)) return concat([a, b]);
  return asSafe(concat([escaped(a), escaped(b)]));
}

function times(value: Value, count: Value): Value | null {
  const number = whole(count);
  if (number === null) return null;
  const length = isStr(value)
    ? plain(value).length
    : value instanceof List || value instanceof Tuple
      ? value.items.length
      : null;
  if (length === null) return null;
  const often = number < 0n ? 0 : Number(number);
  if (length * often > 10_000_000) return unsupported('a repetition this long');
  spend(isStr(value) ? often : often + length * often);
  const copies = Array.from({ length: often }, () => value);
  if (isStr(value)) return concat(copies as Str[]);
  const items = copies.flatMap((copy) => [...(copy as List | Tuple).items]);
  return value instanceof List ? new List(items) : new Tuple(items);
}

/** `a operator b` for the comparisons, `in` and `not in`. */
export function compared(operator: string, a: Value, b: Value): boolean {
  if (operator === 'in') return contains(b, a);
  if (operator === 'not in') return !contains(b, a);
  if (operator === '==') return equal(a, b);
  if (operator === '!=') return !equal(a, b);
  const order = compare(a, b, operator);
  if (operator === '<') return order < 0;
  if (operator === '<=') return order <= 0;
  return operator === '>' ? order > 0 : order >= 0;
}

/** `-value` or `+value`. */
export function unary(operator: '-' | '+', value: Value): Value {
  if (value instanceof Undefined) fail(value.message);
  const number = typeof value === 'number' ? value : whole(value);
  if (number === null) return fail(`bad operand type for unary ${operator}: '${typeName(value)}'`);
  return operator === '-' ? -number : number;
}
