/**
 * The normal form of a search query: stripped, in lower case, without punctuation (ET-Agent reference,
 * search cache key). Pure; whitespace and word characters are Python's.
 */

/** Python's whitespace: JavaScript's without U+FEFF, with U+001C to U+001F and U+0085. */
const SPACE =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const ENDS = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, 'gu');
/** Neither a letter, a number or an underscore, nor whitespace. */
const OTHER = new RegExp(`[^\\p{L}\\p{N}_${SPACE}]`, 'gu');

/** `' What is "New-York"?  '` becomes `'what is newyork'`. */
export function searchCacheKey(query: string): string {
  return query.replace(ENDS, '').toLowerCase().replace(OTHER, '');
}
