/**
 * Reduces the faults of a failing history to few: leaves out as many as possible while it still fails.
 */

/** Calls `fails` with subsets, in order; the result fails, and would not without any one of its faults. */
export async function shrunk<T>(
  all: readonly T[],
  fails: (some: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  if (await fails([])) return [];
  let kept = all;
  for (
    let size = Math.ceil(kept.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < kept.length; ) {
      const without = [...kept.slice(0, at), ...kept.slice(at + size)];
      if (without.length < kept.length && (await fails(without))) kept = without;
      else at += size;
    }
  }
  return kept;
}
