/**
 * Numbers of the page besides those of summary/numbers.ts: counts, ages, times of day, and a curve in one
 * sentence.
 */
import { thousands } from '../../../base/text/index.ts';
import { NOTHING, significant } from '../../../summary/format/index.ts';

/** `1.9k`, `48k`, `3.1M`: for places where a whole number is too wide. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 1000) return String(Math.round(value));
  const [by, unit] = size < 1e6 ? [1e3, 'k'] : size < 1e9 ? [1e6, 'M'] : [1e9, 'G'];
  const scaled = value / by;
  return `${Math.abs(scaled) < 10 ? scaled.toFixed(1) : Math.round(scaled)}${unit}`;
}

/** How long ago, in the largest unit: `12 s`, `4 min`, `3 h`, `2 d`. */
export function age(ms: number | null): string {
  if (ms === null) return NOTHING;
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 1) return 'now';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function milliseconds(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? significant(2)(ms) : Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : age(ms);
}

/** A value of a curve: at most four digits that count; a large one is whole, with its thousands apart. */
export function value(number: number | null | undefined): string {
  if (number === null || number === undefined) return NOTHING;
  const size = Math.abs(number);
  const text = size >= 1000 && size < 1e6 ? thousands(number) : significant(4)(number);
  return signOf(text);
}

/** What a curve did, for those who do not see it: `reward/mean rose from 0.21 to 0.61 in 184 steps`. */
export function curveSentence(
  name: string,
  xs: readonly number[],
  ys: readonly (number | null)[],
  unit = 'steps',
): string {
  const known = ys.filter((y) => y !== null);
  const [from, to] = [known[0], known.at(-1)];
  if (from === undefined || to === undefined) return `${name} has no values yet`;
  if (known.length === 1) return `${name} is ${value(from)}, its only value`;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const small = Math.abs(to - from) <= 0.02 * (high - low || 1);
  const did = small ? 'went' : to > from ? 'rose' : 'fell';
  const steps = xs[ys.lastIndexOf(to)]! - xs[ys.indexOf(from)]!;
  const span = unit === 'steps' ? ` in ${thousands(steps)} steps` : '';
  return `${name} ${did} from ${value(from)} to ${value(to)}${span}, between ${value(low)} and ${value(high)}`;
}

/** Values along an axis, all with as many decimals as distinguish them. */
export function tickTexts(ticks: readonly number[]): string[] {
  const [low = 0, high = low] = [ticks[0], ticks.at(-1)];
  const step = (high - low) / Math.max(1, ticks.length - 1);
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size >= 1e5) return ticks.map(short);
  if (size > 0 && size < 1e-3) {
    const digits = step > 0 ? Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9)) : 1;
    return ticks.map((tick) =>
      tick === 0 ? '0' : signOf(tick.toExponential(Math.min(4, digits))),
    );
  }
  const decimals = step > 0 ? Math.max(0, Math.min(8, decimalsOf(step))) : 2;
  return ticks.map((tick) => signOf(decimals === 0 ? thousands(tick) : tick.toFixed(decimals)));
}

/** How many decimals a round step needs: 0.25 needs two. */
function decimalsOf(step: number): number {
  const first = -Math.floor(Math.log10(step) + 1e-9);
  const digits = step * 10 ** first;
  return first + (Math.abs(digits - Math.round(digits)) < 1e-6 ? 0 : 1);
}

export function fixed(digits: number): (value: number) => string {
  return (value) => signOf(value.toFixed(digits));
}

/** A minus as wide as a plus; none before zero. */
function signOf(text: string): string {
  return text.replace(/^-(?=0(\.0*)?$)/, '').replace(/^-/, '−');
}
