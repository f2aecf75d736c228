/** The name that was probably meant: the nearest by edits (insert, delete, replace), if it is near at all. */

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
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
