/** What every log says to callers that misuse it. */
import { MillraceError } from '../base/index.ts';
import { thousands } from '../base/text/index.ts';
import type { Position } from './position.ts';

export function closedLog(): MillraceError<'CLOSED'> {
  return new MillraceError('CLOSED', 'this log is closed; open it again');
}

export function readOnlyLog(): MillraceError<'READ_ONLY'> {
  return new MillraceError(
    'READ_ONLY',
    "this log was opened read-only; open it with mode 'write' to read in a group or commit",
  );
}

/** A record that does not exist, with those that do: the offsets of its partition before `end`. */
export function noRecord(
  topic: string,
  { partition, offset }: Position,
  end: number,
): MillraceError<'NOT_FOUND'> {
  const there = end === 0 ? 'has no records' : `has offsets 0 to ${thousands(end - 1)}`;
  return new MillraceError(
    'NOT_FOUND',
    `${topic} has no record at offset ${thousands(offset)}: partition ${partition} ${there}`,
    { context: { topic, partition, offset, end } },
  );
}

export function noPartition(
  topic: string,
  partition: number,
  partitions: number,
): MillraceError<'NOT_FOUND'> {
  const there = partitions === 1 ? 'has only partition 0' : `has partitions 0 to ${partitions - 1}`;
  return new MillraceError('NOT_FOUND', `there is no partition ${partition}: ${topic} ${there}`, {
    context: { topic, partition, partitions },
  });
}
