/** An interval, as written on the command line: `2s`, `500ms`, `1m`; a number alone is seconds. */
import { usageError } from './failure.ts';

const unitMs = { ms: 1, s: 1e3, m: 60e3 } as const;
const MIN_MS = 100;

/** In milliseconds. `option` is its name in errors. */
export function parseInterval(option: string, text: string): number {
  const [, number, unit = 's'] = /^(\d*\.?\d+)(ms|s|m)?$/.exec(text) ?? [];
  const ms = Number(number) * unitMs[unit as keyof typeof unitMs];
  if (ms >= MIN_MS) return ms;
  throw usageError(
    `${option} takes an interval of at least ${MIN_MS}ms, such as 1s or 500ms; given: ${text}`,
  );
}
