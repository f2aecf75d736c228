/** Round values along an axis. */

/** Round values that enclose the range, about `about` steps apart: three to six values by default. */
export function ticks(low: number, high: number, about = 4): number[] {
  const span = high - low || Math.abs(high) || 4;
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999)!;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

/** At most six evenly spaced whole numbers within the range, which begins with the first. */
export function wholeTicks(low: number, high: number): number[] {
  const span = high - low;
  if (span <= 0) return [low];
  const power = 10 ** Math.floor(Math.log10(Math.max(1, span / 5)));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => span / s <= 5)!;
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, i) => low + i * step);
}
