/** JSON as one text, whatever the order of its keys, for comparisons and keys. */

/** Keys sorted by UTF-16 units at every depth, nothing between; as `JSON.stringify` otherwise. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    const entries = Object.entries(item);
    entries.sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
    return Object.fromEntries(entries);
  });
}
