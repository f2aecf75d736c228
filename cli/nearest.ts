/**
 * The names that were probably meant: the nearest by edits (insert, delete, replace, swap), if any are close.
 */

/** How many edits, relative to the longer name, still count as close. */
const EDITED_MAX = 0.4;
/** A name that contains this many letters of the given one is close, however long it is. */
const HELD_MIN = 4;

/** A name that needs this many more edits than the nearest was not meant. */
const BEHIND_MAX = 1;

/** Nearest first, at most `max`; equally near ones in the order of the names. */
export function nearestNames(given: string, names: readonly string[], max = 3): string[] {
  const wanted = given.toLowerCase();
  const near = names
    .map((name) => ({ name, edits: distance(wanted, name.toLowerCase()) }))
    .filter(({ edits }) => edits < Number.POSITIVE_INFINITY)
    .sort((a, b) => a.edits - b.edits);
  const editsMax = (near[0]?.edits ?? 0) + BEHIND_MAX;
  return near
    .filter(({ edits }) => edits <= editsMax)
    .slice(0, max)
    .map(({ name }) => name);
}

/** The nearest; null if none is close. */
export function nearest(given: string, names: readonly string[]): string | null {
  return nearestNames(given, names, 1)[0] ?? null;
}

/** ` did you mean a, b or c?`, to end a sentence; empty if there is nothing to say. */
export function didYouMean(names: readonly string[]): string {
  if (names.length === 0) return '';
  const last = names.at(-1)!;
  const others = names.slice(0, -1).join(', ');
  return `; did you mean ${others === '' ? last : `${others} or ${last}`}?`;
}

/** Edits between two names; infinite if they are not close. */
function distance(wanted: string, name: string): number {
  const edits = editsBetween(wanted, name);
  const editsMax = Math.max(1, Math.floor(EDITED_MAX * Math.max(wanted.length, name.length)));
  const holds = wanted.length >= HELD_MIN && name.includes(wanted);
  return edits <= editsMax || holds ? edits : Number.POSITIVE_INFINITY;
}

function editsBetween(a: string, b: string): number {
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? before[j - 2]! + 1
          : Number.POSITIVE_INFINITY;
      next.push(Math.min(replaced, swapped, row[j]! + 1, next[j - 1]! + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
