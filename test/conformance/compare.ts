/**
 * Whether a value is the expected one: numbers to a tolerance relative to max(1, |want|), everything else
 * exactly.
 */

/** The first difference (null = equal) and the largest error among the numbers. */
export interface Comparison {
  readonly difference: string | null;
  readonly worstError: number;
}

/** Compares two JSON values; typed arrays count as arrays. */
export function compare(got: unknown, want: unknown, tolerance: number): Comparison {
  let worstError = 0;
  const visit = (left: unknown, right: unknown, path: string): string | null => {
    const expected = notFinite(right) ?? right;
    if (typeof left === 'number' && typeof expected === 'number') {
      const error = errorOf(left, expected);
      worstError = Math.max(worstError, error);
      return error <= tolerance ? null : mismatch(path, left, right);
    }
    const a = ArrayBuffer.isView(left) ? Array.from(left as Float64Array) : left;
    if (Array.isArray(a) && Array.isArray(expected)) {
      if (a.length !== expected.length)
        return mismatch(`${path}.length`, a.length, expected.length);
      return firstOf(a.map((item, i) => () => visit(item, expected[i], `${path}[${i}]`)));
    }
    if (isRecord(a) && isRecord(expected)) {
      const keys = [...new Set([...Object.keys(expected), ...Object.keys(a)])];
      return firstOf(keys.map((key) => () => visit(a[key], expected[key], `${path}.${key}`)));
    }
    return a === expected ? null : mismatch(path, a, right);
  };
  return { difference: visit(got, want, ''), worstError };
}

function errorOf(got: number, want: number): number {
  if (Object.is(got, want) || got === want) return 0;
  if (!Number.isFinite(got) || !Number.isFinite(want)) return Number.POSITIVE_INFINITY;
  return Math.abs(got - want) / Math.max(1, Math.abs(want));
}

function notFinite(value: unknown): number | undefined {
  if (value === 'Infinity') return Number.POSITIVE_INFINITY;
  if (value === '-Infinity') return Number.NEGATIVE_INFINITY;
  return value === 'NaN' ? Number.NaN : undefined;
}

function firstOf(checks: readonly (() => string | null)[]): string | null {
  for (const check of checks) {
    const difference = check();
    if (difference !== null) return difference;
  }
  return null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mismatch(path: string, got: unknown, want: unknown): string {
  return `at ${path === '' ? 'the value' : path}: got ${show(got)}, want ${show(want)}`;
}

function show(value: unknown): string {
  const text = Number.isFinite(value) ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length <= 400 ? text : `${text.slice(0, 400)}…`;
}
