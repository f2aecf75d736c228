/** `--partition 0,2`: of which partitions a tap is. */
import { usageError } from '../failure.ts';

export function parsePartitions(list: string): readonly number[] {
  const parts = list.split(',').map((part) => part.trim());
  if (parts.every((part) => /^\d{1,9}$/.test(part))) return parts.map(Number);
  throw usageError(`--partition takes numbers between commas, for example 0,2; given: ${list}`);
}
