/**
 * What a tap reads of a topic, as written on the command line: where it begins and ends, and of which
 * partitions.
 */
import { durationMs } from '../../base/text/index.ts';
import type { From } from '../../streams/index.ts';
import { usageError } from '../failure.ts';

/**
 * `earliest`, `latest`, an offset (`120`), the last N (`-100`), an age (`15m`; s, m, h, d) or a time
 * (`@2026-11-20T10:00`, or `@` and milliseconds since 1970).
 */
export function parseFrom(text: string, nowMs: number): From {
  const place = text === 'earliest' ? ({ kind: text } as const) : placeOf(text, nowMs);
  if (place !== null) return place;
  throw usageError(
    `--from takes earliest, latest, an offset (120), the last 100 (-100), an age (15m) or a time (@2026-11-20T10:00); given: ${text}`,
  );
}

/** The same forms; a tap ends before the record there. */
export function parseTo(text: string, nowMs: number): From {
  const place = placeOf(text, nowMs);
  if (place !== null) return place;
  throw usageError(
    `--to takes latest, an offset (120), all but the last 100 (-100), an age (15m) or a time (@2026-11-20T10:00); given: ${text}`,
  );
}

/** `0,2` */
export function parsePartitions(list: string): readonly number[] {
  const parts = list.split(',').map((part) => part.trim());
  if (parts.every((part) => /^\d{1,9}$/.test(part))) return parts.map(Number);
  throw usageError(`--partition takes comma-separated numbers, for example 0,2; given: ${list}`);
}

function placeOf(text: string, nowMs: number): From | null {
  if (text === 'latest') return { kind: text };
  if (/^\d+$/.test(text)) return { kind: 'offset', offset: Number(text) };
  if (/^-\d+$/.test(text)) return { kind: 'last', count: -Number(text) };
  const ageMs = durationMs(text);
  if (ageMs !== null) return { kind: 'time', atMs: nowMs - ageMs };
  if (!text.startsWith('@')) return null;
  const time = text.slice(1);
  const atMs = /^\d+$/.test(time) ? Number(time) : Date.parse(time);
  return Number.isNaN(atMs) ? null : { kind: 'time', atMs };
}
