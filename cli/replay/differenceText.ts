/** A difference between two records, as text: where it is, and both sides. */

import { plain } from '../../base/terminal/index.ts';
import type { Difference } from '../../streams/replay/index.ts';

/** Limit of characters shown of a value. */
const CHARACTERS_MAX = 200;

/** A value in one line. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value instanceof Error) return value.message;
  const text = JSON.stringify(plain(value)) ?? String(value);
  return text.length > CHARACTERS_MAX ? `${text.slice(0, CHARACTERS_MAX)}…` : text;
}

/** Where a record is: topic, identity, offset and, with `field`, which part of it. */
export function placeOf({
  topic,
  id,
  offset,
  field,
}: Pick<Difference, 'topic' | 'id' | 'offset' | 'field'>): string {
  const at = offset === null ? '' : ` (offset ${offset})`;
  return `${topic}, ${id}${at}${field === '' ? '' : `, field ${field}`}`;
}

/** Lines that show the difference; `sides` names the two. */
export function differenceText(
  difference: Difference,
  sides: readonly [recorded: string, made: string],
): string {
  const place = placeOf(difference);
  switch (difference.kind) {
    case 'notRecorded':
      return `${place}: made now but not recorded\n  ${sides[1]}: ${shown(difference.made)}`;
    case 'notMadeAgain':
      return `${place}: recorded but not made now`;
    case 'differs': {
      const width = Math.max(...sides.map((side) => side.length));
      const line = (side: string, value: unknown) => `  ${side.padEnd(width)}  ${shown(value)}`;
      const [recorded, made] = sides;
      return [place, line(recorded, difference.recorded), line(made, difference.made)].join('\n');
    }
  }
}
