/**
 * The normal form of a search query (ET-Agent reference, search cache key): two queries that differ in case or
 * punctuation share a cached result.
 */
import { isSpace, strip } from '../../text/characters.ts';

/** `' What is "New-York"?  '` becomes `'what is newyork'`; white space and word characters are Python's. */
export function searchCacheKey(query: string): string {
  return strip(query)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_]/gu, (character) => (isSpace(character) ? character : ''));
}
