/** Records as plain JSON data: typed arrays become arrays, numbers that JSON lacks become their names. */

export function plain(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Int32Array) return Array.from(value);
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as Iterable<number>, plain);
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}
