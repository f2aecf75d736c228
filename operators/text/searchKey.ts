/**
 * The key under which a search query is cached: two queries that differ in case or punctuation share it.
 */
import { isSpace, strip } from './characters.ts';

/** Stripped, lower case, without anything that is neither a word character nor white space. */
export function searchKey(query: string): string {
  return strip(query)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_]/gu, (character) => (isSpace(character) ? character : ''));
}
