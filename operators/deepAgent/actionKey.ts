/**
 * What makes two actions the same: a call or search already made is not repeated.
 *
 * `reference` compares the text, so a different order of keys or an extra space makes a call new. Repaired,
 * calls are the same if they mean the same: keys in order, no space between; text that is not JSON, and a
 * search, by its words.
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
