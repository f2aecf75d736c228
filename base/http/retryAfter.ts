/** The header Retry-After. */

/** As milliseconds from now: it says seconds, or a date; null if it says neither. */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - nowMs : seconds * 1000;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
