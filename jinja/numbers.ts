/** Numbers as Python reads, writes and computes with them: int is a bigint, float a number. */
import { fail, unsupported } from './failure.ts';
import { type Value, whole } from './values.ts';

/** `repr` of a float: the shortest digits that read back as the same number. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [mantissa = '0', power = '0'] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, '0');
    const rest = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${sign}${digits[0]}${rest}e${exponent < 0 ? '-' : '+'}${size}`;
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const before = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${before}.${digits.slice(exponent + 1) || '0'}`;
}

/** `float(text)`, or null where Python refuses. */
export function readFloat(text: string): number | null {
  const plain = text.trim().replace(/(?<=\d)_(?=\d)/g, '');
  const named = /^([+-]?)(inf|infinity|nan)$/i.exec(plain);
  if (named) {
    const value = named[2]?.toLowerCase() === 'nan' ? Number.NaN : Number.POSITIVE_INFINITY;
    return named[1] === '-' ? -value : value;
  }
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : null;
}

const DIGITS: Readonly<Record<number, RegExp>> = {
  2: /^(0b_?)?([01]+(?:_[01]+)*)$/,
  8: /^(0o_?)?([0-7]+(?:_[0-7]+)*)$/,
  10: /^()(\d+(?:_\d+)*)$/,
  16: /^(0x_?)?([\da-f]+(?:_[\da-f]+)*)$/,
};
const DIGITS_MAX = 10_000;
const PREFIX: Readonly<Record<number, string>> = { 2: '0b', 8: '0o', 10: '', 16: '0x' };

/** `int(text, base)` for the bases 2, 8, 10 and 16, or null where Python refuses. */
export function readInteger(text: string, base = 10): bigint | null {
  if (text.length > DIGITS_MAX) return unsupported('a number this long');
  const shape = DIGITS[base] ?? unsupported(`int() with base ${base}`);
  const signed = /^([+-]?)(.*)$/s.exec(text.trim().toLowerCase());
  const found = shape.exec(signed?.[2] ?? '');
  if (!found) return null;
  const value = BigInt(`${PREFIX[base]}${found[2]?.replaceAll('_', '')}`);
  return signed?.[1] === '-' ? -value : value;
}

/** `int(value)` of a float. */
export function truncated(value: number): bigint {
  if (Number.isNaN(value)) fail('cannot convert float NaN to integer');
  if (!Number.isFinite(value)) fail('cannot convert float infinity to integer');
  return BigInt(Math.trunc(value));
}

/** The exact value of a finite float as a fraction. */
function fraction(value: number): readonly [bigint, bigint] {
  let below = 1n;
  let above = value;
  while (!Number.isInteger(above)) {
    above *= 2;
    below *= 2n;
  }
  return [BigInt(above), below];
}

/** `value` with this many digits after the point, the exact value rounded half to even: `round`, `%.2f`. */
export function fixed(value: number, places: number): string {
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [above, below] = fraction(Math.abs(value));
  const scaled = above * 10n ** BigInt(places);
  let units = scaled / below;
  const twice = (scaled % below) * 2n;
  if (twice > below || (twice === below && units % 2n === 1n)) units += 1n;
  const digits = String(units).padStart(places + 1, '0');
  const cut = digits.length - places;
  return `${sign}${digits.slice(0, cut)}${places > 0 ? `.${digits.slice(cut)}` : ''}`;
}

type Two = readonly [bigint, bigint] | readonly [number, number];

/** Two numbers of one type, or null. */
function together(a: Value, b: Value): Two | null {
  const [x, y] = [whole(a), whole(b)];
  if (x !== null && y !== null) return [x, y];
  const [p, q] = [typeof a === 'number' ? a : x, typeof b === 'number' ? b : y];
  return p === null || q === null ? null : [Number(p), Number(q)];
}

const bothWhole = (two: Two): two is readonly [bigint, bigint] => typeof two[0] === 'bigint';

/** The result of `operator` on two numbers; null if one is not a number. */
export function arithmetic(operator: string, a: Value, b: Value): bigint | number | null {
  const two = together(a, b);
  if (two === null) return null;
  return bothWhole(two) ? onIntegers(operator, two[0], two[1]) : onFloats(operator, two[0], two[1]);
}

/** Far beyond any count; longer ones could double at every step. */
const INTEGER_MAX = 2n ** 40_000n;
const INTEGER_MIN = -INTEGER_MAX;

function bounded(value: bigint): bigint {
  return value > INTEGER_MAX || value < INTEGER_MIN ? unsupported('a number this large') : value;
}

function onIntegers(operator: string, a: bigint, b: bigint): bigint | number {
  if (operator === '+') return bounded(a + b);
  if (operator === '-') return bounded(a - b);
  if (operator === '*') return bounded(a * b);
  if (operator === '**') return power(notNegative(a), b);
  if (b === 0n)
    return fail(operator === '/' ? 'division by zero' : 'integer division or modulo by zero');
  if (operator === '/') return quotient(a, b);
  const rest = a % b;
  const down = rest !== 0n && rest < 0n !== b < 0n;
  if (operator === '//') return a / b - (down ? 1n : 0n);
  return down ? rest + b : rest;
}

function power(a: bigint, b: bigint): bigint | number {
  if (b < 0n) return floatPower(Number(a), Number(b));
  if (b > 10_000n) return unsupported('a power this large');
  if (a > 2n ** 64n) return unsupported('a power this large');
  return bounded(a ** b);
}

/** Jinja writes -2 ** 0 for (-2) ** 0, which Python takes for -(2 ** 0). */
function notNegative<Kind extends bigint | number>(base: Kind): Kind {
  return base < 0 ? unsupported('** of a negative number') : base;
}

/** Where the result is exact: elsewhere libraries differ in the last digit. */
function floatPower(a: number, b: number): number {
  if (a === 0 && b < 0) return fail('0.0 cannot be raised to a negative power');
  const exact =
    Number.isInteger(a) && Number.isInteger(b) && Number.isSafeInteger(a ** Math.abs(b));
  const two = Number.isInteger(Math.log2(Math.abs(a)));
  return exact && (b >= 0 || two) ? a ** b : unsupported('** of floating-point numbers');
}

function quotient(a: bigint, b: bigint): number {
  const exact = (value: bigint) => value <= 2n ** 53n && value >= -(2n ** 53n);
  return exact(a) && exact(b) ? Number(a) / Number(b) : unsupported('/ of integers beyond 2**53');
}

function onFloats(operator: string, a: number, b: number): number {
  if (operator === '+') return a + b;
  if (operator === '-') return a - b;
  if (operator === '*') return a * b;
  if (operator === '**') return floatPower(notNegative(a), b);
  if (b === 0) return fail(operator === '%' ? 'float modulo' : 'float division by zero');
  if (operator === '/') return a / b;
  const rest = a % b;
  const zero = (sign: number) => (sign < 0 || Object.is(sign, -0) ? -0 : 0);
  const modulo = rest === 0 ? zero(b) : rest < 0 !== b < 0 ? rest + b : rest;
  if (operator === '%') return modulo;
  const quotient = (a - modulo) / b;
  if (quotient === 0) return zero(a / b);
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}
