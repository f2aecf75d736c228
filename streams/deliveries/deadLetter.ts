/**
 * What is kept of a record that could not be read or processed: its origin, the reason and a bounded excerpt.
 */

import { hasCode, type MillraceError, messageOf } from '../../base/index.ts';
import { type DeadLetter, deadLetters } from '../deadLetters.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryOwner, Root } from './family.ts';
import { deliver } from './settlement.ts';

const PAYLOAD_CHARACTERS_MAX = 4000;
const ARRAY_ITEMS_MAX = 8;

const RETRIED = 'dlq/';

/** Name of the mark that a letter has been put back under; `number` is its offset. */
export function retriedMark(number: number): string {
  return `${RETRIED}${number}`;
}

/** The number of the letter that a mark is about; null when it is about something else. */
export function retriedLetter(mark: string): number | null {
  return mark.startsWith(RETRIED) ? Number(mark.slice(RETRIED.length)) : null;
}

/** The record as JSON, typed arrays cut to their beginning, the whole cut to 4,000 characters. */
function look(value: unknown): string {
  const json = JSON.stringify(value, (_key, part: unknown) => {
    if (!ArrayBuffer.isView(part)) return part;
    const items = [...(part as Int32Array).subarray(0, ARRAY_ITEMS_MAX)];
    return `${part.constructor.name}[${(part as Int32Array).length}] ${items.join(' ')}`;
  });
  return (json ?? String(value)).slice(0, PAYLOAD_CHARACTERS_MAX);
}

export function deadLetterOf(delivery: Delivery<unknown>, error: unknown): DeadLetter {
  return letter(delivery, error, look(delivery.value));
}

/**
 * Whether only this record is at fault: its bytes do not decode. A damaged log, or a contract that this
 * version cannot read at all, is not the record's fault and stops the reader.
 */
export function isUnreadable(error: unknown): error is MillraceError<'DECODE'> {
  return hasCode(error, 'DECODE');
}

/** For logs: settles an unreadable record with a dead letter instead, in the commit that `owner` makes. */
export function settleUnreadable(
  root: Root,
  bytes: Buffer,
  error: MillraceError,
  owner: DeliveryOwner,
): void {
  const payload = `0x${bytes.subarray(0, PAYLOAD_CHARACTERS_MAX / 2 - 1).toString('hex')}`;
  deliver(null, root, owner)
    .also(deadLetters, letter(root, error, payload))
    .drop();
}

function letter(
  { topic, position, key }: Pick<Root, 'topic' | 'position' | 'key'>,
  error: unknown,
  payload: string,
): DeadLetter {
  const context = (error as { context?: { field?: unknown } } | undefined)?.context;
  const field = typeof context?.field === 'string' ? context.field : '';
  return { origin: topic, place: position.offset, key, field, reason: messageOf(error), payload };
}
