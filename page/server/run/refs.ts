/**
 * Refs: the place of a record as a word in an address. `812` = offset 812 of partition 0, `2-812` of
 * partition 2.
 */
import type { Position } from '../../../topics/index.ts';

export function refOf({ partition, offset }: Position): string {
  return partition === 0 ? String(offset) : `${partition}-${offset}`;
}

/** Null if it is not a ref. */
export function positionIn(ref: string): Position | null {
  const found = /^(?:(\d{1,6})-)?(\d{1,15})$/.exec(ref);
  if (found === null) return null;
  return { partition: Number(found[1] ?? 0), offset: Number(found[2]) };
}
