/**
 * Numbers for people: one way of writing a share, a duration, a size or a difference, for every view.
 */

/** Shown if nothing was measured. */
export const NOTHING = '–';

export type Show = (value: number) => string;

/** `show` of the value; a dash if there is none. */
export function orDash<T>(value: T | null | undefined, show: (value: T) => string): string {
  return value === null || value === undefined ? NOTHING : show(value);
}

export function fixed(digits: number): Show {
  return (value) => value.toFixed(digits);
}

/** A share (0 to 1) as `68.8 %`. */
export function percent(share: number, digits = 1): string {
  return `${(100 * share).toFixed(digits)} %`;
}

/** A share (0 to 1) out of a hundred, for columns that say so: `68.8`. */
export function hundred(share: number): string {
  return (100 * share).toFixed(1);
}

/** This many significant digits; powers of ten if a number is tiny or huge. */
export function significant(digits: number): Show {
  return (value) => {
    const size = Math.abs(value);
    if (size !== 0 && (size < 0.001 || size >= 1e5)) return value.toExponential(1);
    return String(Number(value.toPrecision(digits)));
  };
}

/** A rate per second: whole above ten, two digits below. */
export function rate(value: number): string {
  return value >= 10 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}

/** A difference with its sign; without one if it rounds to zero. */
export function signed(difference: number, show: Show): string {
  const size = show(Math.abs(difference));
  if (Number.parseFloat(size) === 0) return size;
  return `${difference < 0 ? '−' : '+'}${size}`;
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A number of bytes. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
