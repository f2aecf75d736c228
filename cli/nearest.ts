/** The name that was probably meant: the nearest by edits (insert, delete, replace, swap), if it is near at all. */

export function nearest(given: string, names: readonly string[]): string | null {
  const editsMax = Math.max(1, Math.floor(given.length / 3));
  let best: { name: string; edits: number } | null = null;
  for (const name of names) {
    const edits = editsBetween(given.toLowerCase(), name.toLowerCase());
    if (edits <= editsMax && edits < (best?.edits ?? Number.POSITIVE_INFINITY))
      best = { name, edits };
  }
  return best?.name ?? null;
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
