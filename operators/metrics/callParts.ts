/**
 * The calls of each tool as parts of a reward, by the names that they have in `scored` records:
 * `searchCalls`, `pythonCalls`, and `<tag>Calls` for any other tool. `toolCalls` is the number of all, so no
 * tool can be named `tool`.
 */
import type { Reward } from '../../topics/index.ts';

const SUFFIX = 'Calls';
const ALL = 'toolCalls';

/** Calls by tag → parts. */
export function callParts(calls: Readonly<Record<string, number>>): Reward['parts'] {
  return Object.fromEntries(Object.entries(calls).map(([tag, count]) => [tag + SUFFIX, count]));
}

/** Parts → calls by tag; null if a reward did not count them. */
export function callsIn(parts: Reward['parts']): Readonly<Record<string, number>> | null {
  const found = Object.entries(parts).flatMap(([name, count]) =>
    name.endsWith(SUFFIX) && name !== ALL ? [[name.slice(0, -SUFFIX.length), count] as const] : [],
  );
  return found.length === 0 ? null : Object.fromEntries(found);
}
