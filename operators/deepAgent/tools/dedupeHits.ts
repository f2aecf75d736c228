/** Hits without repetitions: of each key the best one, in order, at most `top` (DeepAgent §1.5). */
export function dedupeHits<T>(hits: readonly T[], key: (hit: T) => string, top: number): T[] {
  const kept = new Map<string, T>();
  for (const hit of hits) {
    if (kept.size === top) break;
    if (!kept.has(key(hit))) kept.set(key(hit), hit);
  }
  return [...kept.values()];
}
