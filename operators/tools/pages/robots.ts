/**
 * What a site's robots.txt allows (RFC 9309): the rules of the group that names us, else of `*`; the longest
 * rule that matches a path decides, and a tie allows. Linear in the file; a rule is matched in the product of
 * its length, which is bounded, and the path's.
 */

/** One rule, with `*` and a `$` at its end as the file has them. */
interface Rule {
  readonly allows: boolean;
  readonly pattern: string;
}

/** The rules of a robots.txt for one agent. */
export interface Robots {
  readonly rules: readonly Rule[];
}

const FILE_MAX = 500_000;
const RULES_MAX = 5000;
const PATTERN_MAX = 500;
const PATH_MAX = 2000;

/** Allows everything: a site without the file. */
export const noRobots: Robots = { rules: [] };
/** Allows nothing: for a site whose rules cannot be read at present. */
export const closedRobots: Robots = { rules: [{ allows: false, pattern: '/' }] };

/** The rules for `agent`, a product name in lower case. */
export function parseRobots(file: string, agent: string): Robots {
  const groups = new Map<string, Rule[]>([
    [agent, []],
    ['*', []],
  ]);
  const named = new Set<string>();
  let current: string[] = [];
  let naming = false;
  let count = 0;
  for (const line of file
    .slice(0, FILE_MAX)
    .replace(/^\ufeff/, '')
    .split(/\r\n?|\n/)) {
    const text = line.split('#', 1)[0]!;
    const colon = text.indexOf(':');
    if (colon < 0) continue;
    const field = text.slice(0, colon).trim().toLowerCase();
    const value = text.slice(colon + 1).trim();
    if (field === 'user-agent') {
      if (!naming) current = [];
      naming = true;
      const name = value.toLowerCase();
      current.push(name);
      named.add(name);
    } else if (field === 'allow' || field === 'disallow') {
      naming = false;
      if (value === '' || ++count > RULES_MAX) continue;
      const rule = { allows: field === 'allow', pattern: decoded(value.slice(0, PATTERN_MAX)) };
      for (const name of current) groups.get(name)?.push(rule);
    }
  }
  return { rules: groups.get(named.has(agent) ? agent : '*')! };
}

/** Whether a URL's path and query may be fetched. */
export function robotsAllow({ rules }: Robots, { pathname, search }: URL): boolean {
  const path = decoded(`${pathname}${search}`.slice(0, PATH_MAX));
  let longest = -1;
  let allowed = true;
  for (const { allows, pattern } of rules) {
    const length = pattern.length;
    if (length < longest || (length === longest && !allows)) continue;
    if (matches(pattern, path)) [longest, allowed] = [length, allows];
  }
  return allowed;
}

/** Normalises percent-encoding. */
function decoded(text: string): string {
  try {
    return encodeURI(decodeURI(text)).replaceAll('%25', '%');
  } catch {
    return text;
  }
}

/** A pattern with `*` for any text, from the beginning of the path; `$` at its end matches the path's end. */
function matches(pattern: string, path: string): boolean {
  const ended = pattern.endsWith('$');
  const parts = (ended ? pattern.slice(0, -1) : pattern).split('*');
  const [first] = parts;
  if (!path.startsWith(first!)) return false;
  if (parts.length === 1) return !ended || path === first;
  let at = first!.length;
  for (const part of parts.slice(1, ended ? -1 : undefined)) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  const last = parts.at(-1)!;
  return !ended || (path.length - last.length >= at && path.endsWith(last));
}
