/**
 * The first difference between two values, as a path and both sides. Bit for bit: numbers are equal when they
 * are the same number (NaN equals NaN, 0 does not equal -0). Times and durations are skipped.
 */
import type { Topic } from '../topic.ts';

/** Where two values differ. */
export interface FieldDifference {
  /** Path of the field, e.g. `lines.2.price`; empty for the value itself. */
  readonly field: string;
  readonly recorded: unknown;
  readonly made: unknown;
}

/** Null when they are equal. */
export function firstDifference(
  recorded: unknown,
  made: unknown,
  field = '',
): FieldDifference | null {
  if (Object.is(recorded, made)) return null;
  if (isList(recorded) && isList(made)) return inLists(recorded, made, field);
  if (isRecord(recorded) && isRecord(made)) return inRecords(recorded, made, field);
  return { field, recorded, made };
}

/**
 * The same for two records of a topic. A field that the older version lacks is no difference, nor are two
 * names made up by a service.
 */
export function recordDifference(
  topic: Topic<unknown>,
  recorded: unknown,
  made: unknown,
): FieldDifference | null {
  if (!isRecord(recorded) || !isRecord(made)) return firstDifference(recorded, made);
  const ignored = new Set([
    ...topic.incidental,
    ...topic.added.filter((field) => recorded[field] === null || made[field] === null),
    ...topic.named.filter((field) => isServices(recorded[field]) && isServices(made[field])),
  ]);
  const then = (topic.asThen?.(made, recorded) ?? made) as Fields;
  if (ignored.size === 0) return firstDifference(recorded, then);
  const comparable = (value: Fields): Fields =>
    Object.fromEntries(Object.entries(value).filter(([field]) => !ignored.has(field)));
  return firstDifference(comparable(recorded), comparable(then));
}

/** The name of something in a service; a path has no scheme. */
const isServices = (uri: unknown): boolean =>
  typeof uri === 'string' && /^[a-z][a-z0-9+.-]*:\/\//i.test(uri);

/** Fields that hold times and durations, in any record. */
const isTimeField = (field: string): boolean => field === 'ms' || field.endsWith('Ms');

type List = ArrayLike<unknown>;
type Fields = Readonly<Record<string, unknown>>;

const isList = (value: unknown): value is List =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value);

const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !isList(value);

const within = (field: string, name: string | number): string =>
  field === '' ? String(name) : `${field}.${name}`;

function inLists(recorded: List, made: List, field: string): FieldDifference | null {
  const shared = Math.min(recorded.length, made.length);
  for (let i = 0; i < shared; i++) {
    if (Object.is(recorded[i], made[i])) continue;
    const found = firstDifference(recorded[i], made[i], within(field, i));
    if (found !== null) return found;
  }
  if (recorded.length === made.length) return null;
  return { field: within(field, 'length'), recorded: recorded.length, made: made.length };
}

function inRecords(recorded: Fields, made: Fields, field: string): FieldDifference | null {
  for (const name of Object.keys(recorded)) {
    const found = inField(recorded, made, field, name);
    if (found !== null) return found;
  }
  for (const name of Object.keys(made)) {
    const found = Object.hasOwn(recorded, name) ? null : inField(recorded, made, field, name);
    if (found !== null) return found;
  }
  return null;
}

function inField(recorded: Fields, made: Fields, field: string, name: string) {
  const [then, now] = [recorded[name], made[name]];
  if (Object.is(then, now) || isTimeField(name)) return null;
  return firstDifference(then, now, within(field, name));
}
