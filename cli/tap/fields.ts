/**
 * `--fields a,b.c`: parts of a record by dotted path. An array is entered by number (`rewards.0.score`), or
 * without one to take the part of every member (`rewards.score`). `$offset`, `$key` and `$at` are of the
 * envelope.
 */
import type { Stored } from '../../streams/log.ts';
import { usageError } from '../failure.ts';

/** Picks the fields, by the names that were asked for; null where a record has no such part. */
export type Pick = (stored: Stored<unknown>) => Readonly<Record<string, unknown>>;

export function pickFields(list: string): Pick {
  const names = list.split(',').map((name) => name.trim());
  if (names.some((name) => name === '')) {
    throw usageError(
      `--fields takes names between commas, for example id,question.id; given: ${list}`,
    );
  }
  const paths = names.map((name) => [name, name.split('.')] as const);
  return (stored) =>
    Object.fromEntries(
      paths.map(([name, path]) => [name, envelope(stored, name) ?? at(stored.value, path)]),
    );
}

/** The record under the names of the envelope. */
export function withEnvelope(stored: Stored<unknown>): Readonly<Record<string, unknown>> {
  const { topic, position, key, atMs, value } = stored;
  return { topic, offset: position.offset, key, at: new Date(atMs).toISOString(), value };
}

function envelope({ position, key, atMs }: Stored<unknown>, name: string): unknown {
  if (name === '$offset') return position.offset;
  if (name === '$key') return key;
  return name === '$at' ? new Date(atMs).toISOString() : undefined;
}

function at(value: unknown, path: readonly string[]): unknown {
  const [part, ...rest] = path;
  if (part === undefined) return value;
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value) && !/^\d+$/.test(part)) return value.map((member) => at(member, path));
  return at((value as Record<string, unknown>)[part] ?? null, rest);
}
