/**
 * What a stage reports when its operator broke the rules of deliveries: which record, what happened, and what
 * to use instead.
 */
import { MillraceError } from '../../base/index.ts';
import { isDelivery, placeOf } from '../deliveries/settlement.ts';

const SHOWN_MAX = 80;
const NAMED_MAX = 3;

/** Something other than a delivery left the operator. `place` is the record most likely meant, if any. */
export function notADelivery(value: unknown, place: string | undefined): MillraceError {
  const at = place === undefined ? '' : ` at ${place}`;
  return new MillraceError(
    'NOT_A_DELIVERY',
    Array.isArray(value) && value.some(isDelivery)
      ? `its operator emitted ${arrayOf(value)}${at}: bufferCount, toArray and the like take deliveries apart; ` +
          'gather records with gatherBy or gatherCount'
      : `its operator emitted ${show(value)}${at}, which is not a delivery: map and the like lose what settles the record; ` +
          'use mapEach, expandEach or pipeEach',
    { context: { place } },
  );
}

/** A delivery of another stage left the operator. */
export function foreignDelivery(place: string): MillraceError {
  return new MillraceError(
    'FOREIGN_DELIVERY',
    `its operator emitted ${place}, which another stage or reader has read: a stage settles only what it reads; ` +
      'let the other stage write a topic, and read that',
    { context: { place } },
  );
}

/** These records can no longer be settled. */
export function lostRecords(places: readonly string[]): MillraceError {
  const more = places.length > NAMED_MAX ? ` and ${places.length - NAMED_MAX} more` : '';
  return new MillraceError(
    'LOST',
    `its operator lost ${places.slice(0, NAMED_MAX).join(', ')}${more}: neither emitted nor dropped (filter, distinct, ` +
      'debounceTime, switchMap and the like do that to deliveries); use keepIf, or the RxJS operator within pipeEach',
    { context: { places: places.slice(0, NAMED_MAX), count: places.length } },
  );
}

/** The operator completed on its own. */
export function endedEarly(): MillraceError {
  return new MillraceError(
    'ENDED',
    'its operator completed before its input did (take, first, takeUntil and the like end the stage); ' +
      'to pass some records use keepIf, to take some outputs of each record use pipeEach',
  );
}

function arrayOf(values: readonly unknown[]): string {
  const first = values.find(isDelivery);
  const named = first === undefined ? '' : `, the first ${placeOf(first)}`;
  return `an array of ${values.length === 1 ? '1 delivery' : `${values.length} deliveries`}${named},`;
}

function show(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return `a bare ${typeof value} (${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text})`;
}
