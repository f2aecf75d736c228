/**
 * `--fields a,b.c`: parts of a record by dotted path. An array is entered by number (`rewards.0.score`, the
 * last one by -1), or without one to take the part of every member (`rewards.score`). `$topic`, `$partition`,
 * `$offset`, `$key` and `$at` belong to the envelope.
 */
import type { Stored } from '../../streams/index.ts';
import { usageError } from '../failure.ts';

/** Picks the fields, by the requested names; null if a record has no such part. */
export type Pick = (stored: Stored<unknown>) => Readonly<Record<string, unknown>>;

export function pickFields(list: string): Pick {
  const names = list.split(',').map((name) => name.trim());
  if (names.some((name) => name === '')) {
    throw usageError(
      `--fields takes comma-separated names, for example id,question.id; given: ${list}`,
    );
  }
  const paths = names.map((name) => [name, name.split('.')] as const);
  return (stored) =>
    Object.fromEntries(
      paths.map(([name, path]) => [name, envelope(stored, name) ?? at(stored.value, path)]),
    );
}

/** The record under the names of the envelope. */
export function withEnvelope(
  { topic, position, key, atMs }: Stored<unknown>,
  value: unknown,
): Readonly<Record<string, unknown>> {
  return { topic, ...position, key, at: new Date(atMs).toISOString(), value };
}

function envelope({ topic, position, key, atMs }: Stored<unknown>, name: string): unknown {
  switch (name) {
    case '$topic':
      return topic;
    case '$partition':
      return position.partition;
    case '$offset':
      return position.offset;
    case '$key':
      return key;
    case '$at':
      return new Date(atMs).toISOString();
    default:
      return undefined;
  }
}

function at(value: unknown, path: readonly string[]): unknown {
  const [part, ...rest] = path;
  if (part === undefined) return value;
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) {
    if (!/^-?\d+$/.test(part)) return value.map((member) => at(member, path));
    return at(value.at(Number(part)) ?? null, rest);
  }
  return at((value as Record<string, unknown>)[part] ?? null, rest);
}
