/** `dead-letters`: what could not be read or processed, and why. The engine itself writes this topic. */
import { defineTopic } from './contracts/defineTopic.ts';
import { record, text, type ValueOf, whole } from './contracts/shapes.ts';

export const deadLetter = record('DeadLetter', {
  /** Topic or file that it came from. */
  origin: text,
  /** Line of a file (from 1), or offset in a topic. */
  place: whole,
  key: text,
  field: text,
  reason: text,
  payload: text,
});
/** What could not be read or processed, why, and where it came from. */
export interface DeadLetter extends ValueOf<typeof deadLetter> {}

/** Records of what could not be read or processed. */
export const deadLetters = defineTopic<DeadLetter>({
  name: 'dead-letters',
  about:
    'Records that could not be read or processed, and why. Any stage or source writes it; people read it.',
  shape: deadLetter,
  key: (value) => value.key,
  onePartition: true,
  anyOrder: true,
  identity: ({ origin, place, key, field }) => `${origin}@${place} ${key} ${field}`.trimEnd(),
});
