/**
 * Finds a name that occurs twice in one object of a JSON text. `JSON.parse` keeps the last one and other
 * readers the first, so two readers of the same file would see different contents.
 */

/** A string, or what opens, closes or parts objects and lists. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]/gs;

/** The first such name in `json`, which must be JSON; null if each occurs once. */
export function nameTwice(json: string): string | null {
  /** The names of the enclosing objects, outermost first; null for a list. */
  const around: (Set<string> | null)[] = [];
  let before = '';
  for (const { 0: token } of json.matchAll(TOKEN)) {
    if (token === '{') around.push(new Set());
    else if (token === '[') around.push(null);
    else if (token === '}' || token === ']') around.pop();
    else if (token === ':') {
      const name = JSON.parse(before) as string;
      const names = around.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
    before = token;
  }
  return null;
}
