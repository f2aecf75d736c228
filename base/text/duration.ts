/** A duration as people write it: `90s`, `10m`, `1.5h`, `30d`. */

const UNIT_MS: Readonly<Record<string, number>> = { s: 1e3, m: 60e3, h: 3600e3, d: 86_400e3 };

/** Milliseconds; null if the text is not a duration. */
export function durationMs(text: string): number | null {
  const [, number, unit] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  return number === undefined ? null : Number(number) * UNIT_MS[unit!]!;
}
