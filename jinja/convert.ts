/** JavaScript values as template values: what JSON would make of them, as Python reads it. */
import { fail } from './failure.ts';
import { Float } from './jsonNumbers.ts';
import { from, type Origin } from './text.ts';
import { Dict, List, type Value } from './values.ts';

const DEPTH_MOST = 500;

/**
 * A whole number is an int and any other a float, as JSON writes them; `Float` and bigint are for those that
 * JavaScript's numbers cannot distinguish. A Map is a dict. Texts are of `origin`. Fails for functions and
 * for what is too deep.
 */
export function convert(value: unknown, origin: Origin | null = null, depth = 0): Value {
  if (depth > DEPTH_MOST) fail(`values nested deeper than ${DEPTH_MOST}`);
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return from(value, origin);
  if (typeof value === 'boolean' || typeof value === 'bigint') return value;
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? BigInt(value) : value;
  if (value instanceof Float) return value.value;
  if (Array.isArray(value)) return new List(value.map((item) => convert(item, origin, depth + 1)));
  if (value instanceof Date) return from(value.toISOString(), origin);
  if (typeof value !== 'object') return fail(`a ${typeof value} cannot be given to a template`);
  const entries: Iterable<readonly [unknown, unknown]> =
    value instanceof Map ? value : Object.entries(value).filter(([, item]) => item !== undefined);
  const pairs = [...entries].map(
    ([key, item]) => [convert(key, origin, depth + 1), convert(item, origin, depth + 1)] as const,
  );
  return new Dict(pairs);
}
