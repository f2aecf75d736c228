/** Records as plain JSON data, and as text: typed arrays become arrays, numbers that JSON lacks become their names. */

export function plain(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Int32Array) return Array.from(value);
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as Iterable<number>, plain);
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}

/** As JSON, with those characters escaped that JSON allows and a terminal obeys. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(plain(value), null, indent).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
