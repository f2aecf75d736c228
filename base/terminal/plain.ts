/**
 * Records as plain JSON data and as text: typed arrays become arrays, numbers that JSON lacks become their
 * names.
 */
import { escaped, replaceHidden } from '../text/visible.ts';

export function plain(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Int32Array) return Array.from(value);
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as Iterable<number>, plain);
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}

/** As JSON, escaping characters that JSON allows and a terminal would interpret. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(plain(value), null, indent);
  return replaceHidden(text, (character) => (character === '\n' ? character : escaped(character)));
}
