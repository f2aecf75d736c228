/**
 * What is kept of a record that could not be processed: where it came from, why, and a bounded look at it.
 */
import type { Delivery } from './delivery.ts';
import { messageOf } from './errors.ts';
import type { DeadLetter } from './records.ts';

const PAYLOAD_CHARACTERS_MAX = 4000;
const ARRAY_ITEMS_MAX = 8;

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
  const context = (error as { context?: { field?: unknown } } | undefined)?.context;
  return {
    origin: delivery.topic,
    place: delivery.position.offset,
    key: delivery.key,
    field: typeof context?.field === 'string' ? context.field : '',
    reason: messageOf(error),
    payload: look(delivery.value),
  };
}
