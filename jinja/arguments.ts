/** Binds the arguments of a call to parameters by Python's rules. */
import { fail, unsupported } from './failure.ts';
import { isStr, plain } from './text.ts';
import { type Arguments, truth, typeName, type Value, whole } from './values.ts';

/**
 * The values of `parameters` in order, undefined if one was left out. The first `required` of them
 * must be given.
 */
export function bind(
  name: string,
  { positional, named }: Arguments,
  parameters: readonly string[],
  required: number,
): readonly (Value | undefined)[] {
  if (positional.length > parameters.length)
    fail(`${name}() takes at most ${parameters.length} argument(s) (${positional.length} given)`);
  const values: (Value | undefined)[] = parameters.map((_, i) => positional[i]);
  for (const [key, value] of named) {
    const at = parameters.indexOf(key);
    if (at < 0) fail(`${name}() got an unexpected keyword argument '${key}'`);
    if (values[at] !== undefined) fail(`${name}() got multiple values for argument '${key}'`);
    values[at] = value;
  }
  const missing = parameters.find((_, i) => i < required && values[i] === undefined);
  if (missing !== undefined) fail(`${name}() missing required argument: '${missing}'`);
  return values;
}

/** As `bind`, for functions that take no arguments by name. */
export function bindPositional(
  name: string,
  args: Arguments,
  required: number,
  most: number,
): readonly (Value | undefined)[] {
  if (args.named.size > 0) fail(`${name}() takes no keyword arguments`);
  const parameters = Array.from({ length: most }, (_, i) => String(i));
  return bind(name, args, parameters, required);
}

/** A whole number that fits an index. */
export function integer(value: Value | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  const number = whole(value);
  if (number === null) fail(`'${typeName(value)}' object cannot be interpreted as an integer`);
  const limited = number > 1_000_000_000n ? 1_000_000_000n : number;
  return Number(limited < -1_000_000_000n ? -1_000_000_000n : limited);
}

/** Wider than any line a template writes. */
const SIZE_MAX = 100_000;

/** A whole number of characters, places or items that will be made. */
export function sizeOf(value: Value | undefined, otherwise: number): number {
  return checkedSize(integer(value, otherwise));
}

export function checkedSize(size: number): number {
  return size > SIZE_MAX ? unsupported(`a width or number of ${size}`) : size;
}

/** Like `integer`, but None counts as left out. */
export function optionalInteger(value: Value | undefined): number | null {
  return value === undefined || value === null ? null : integer(value, 0);
}

export function string(value: Value | undefined, what: string): string {
  if (value !== undefined && isStr(value)) return plain(value);
  return fail(`${what} must be str, not ${typeName(value ?? null)}`);
}

export function boolean(value: Value | undefined, otherwise: boolean): boolean {
  return value === undefined ? otherwise : truth(value);
}
