/**
 * By what two actions are the same: a call that was made, or a search that was asked, is not made again.
 *
 * `reference` compares what was written, so another order of keys or another space makes a call new. Repaired, calls are the same
 * when they say the same: keys in order, no space between; a text that is no JSON, and a search, by its words.
 */
import { words } from '../text/characters.ts';
import type { EpisodeMode } from './episode.ts';
import { lenientJson } from './lenientJson.ts';

/** The key of an action's body. */
export function actionKey(body: string, mode: EpisodeMode): string {
  if (mode === 'reference') return body;
  const value = lenientJson(body);
  return value === undefined ? words(body).join(' ') : canonicalJson(value);
}

/** JSON with keys in the order of their UTF-16 units, and no space between. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    const entries = Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return Object.fromEntries(entries);
  });
}
