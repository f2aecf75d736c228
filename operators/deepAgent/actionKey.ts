/**
 * What makes two actions the same: a call or a search that was made is not repeated.
 *
 * `reference` compares what was written, so another order of keys or another space makes a call new.
 * Repaired, calls are the same when they mean the same: keys in order, no space between; a text that is not
 * JSON, and a search, by its words.
 */
import { canonicalJson } from '../../base/text/index.ts';
import { words } from '../text/characters.ts';
import type { EpisodeMode } from './episode.ts';
import { lenientJson } from './lenientJson.ts';

/** The key of an action's body. */
export function actionKey(body: string, mode: EpisodeMode): string {
  if (mode === 'reference') return body;
  const value = lenientJson(body);
  return value === undefined ? words(body).join(' ') : canonicalJson(value);
}
