/**
 * A record as JSON that a browser can handle: long texts are cut, packed numbers and long lists show only
 * their beginning, non-finite numbers get a name, and every omission is reported. Depth and size are bounded
 * whatever the record holds.
 */
import type { Cut, Shown } from '../../wire/index.ts';

const LIST_MAX = 200;
const DEPTH_MAX = 12;
const FIRST = 32;

export interface ShownOptions {
  /** UTF-16 units of each text. */
  readonly textMax: number;
}

/** `cut` is set if something was left out. */
export function shown(
  value: unknown,
  { textMax }: ShownOptions,
): { readonly value: Shown; readonly cut: boolean } {
  let cut = false;
  const of = (part: unknown, depth: number): Shown => {
    if (part === null || part === undefined || typeof part === 'boolean') return part ?? null;
    if (typeof part === 'string') {
      const text = cutText(part, textMax);
      cut ||= text !== part;
      return text;
    }
    if (typeof part === 'number') return numberShown(part);
    if (typeof part !== 'object') return String(part);
    if (part instanceof Int32Array || part instanceof Float32Array) {
      cut ||= part.length > FIRST;
      const type = part instanceof Int32Array ? 'int32' : 'float32';
      const first = [...part.subarray(0, FIRST)].map((n) => (Number.isFinite(n) ? n : null));
      return { $packed: { type, total: part.length, first } };
    }
    if (depth >= DEPTH_MAX) return cutText('…', 1);
    if (Array.isArray(part)) {
      const first = part.slice(0, LIST_MAX).map((item) => of(item, depth + 1));
      if (part.length <= LIST_MAX) return first;
      cut = true;
      return [...first, { $more: part.length - LIST_MAX }];
    }
    const fields = Object.entries(part).slice(0, LIST_MAX);
    // A record may hold a map with any keys, none of which may change the prototype of a page's object.
    return Object.fromEntries(fields.map(([name, field]) => [name, of(field, depth + 1)]));
  };
  return { value: of(value, 0), cut };
}

export function cutText(text: string, max: number): string | Cut {
  if (text.length <= max) return text;
  // Never cuts a character in two.
  const end = /[\uD800-\uDBFF]/.test(text[max - 1] ?? '') ? max - 1 : max;
  return { $cut: { text: text.slice(0, end), shown: end, total: text.length } };
}

function numberShown(value: number): Shown {
  if (Number.isFinite(value)) return value;
  return { $number: Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity' };
}

/** A number for a wire field that may be null. */
export function finite(value: number | null | undefined): number | null {
  return value === undefined || value === null || !Number.isFinite(value) ? null : value;
}
