/**
 * Where the sessions of a group leave each other: ARPO's and AEPO's branching (ARPO reference §1.3, AEPO §2.1
 * and §2.2) over the calls of agents, whose runs cannot be stopped and cloned like rollouts of our own.
 *
 * All roots run to their end, and then forks leave them. A call of a root is a round; the first has no forks,
 * since it is what later ones are compared with. The run that AEPO monitors is the first root, and stays: an
 * agent's run costs too much to be thrown away.
 */
import type { Branching } from '../operators/sampling/index.ts';

/** A call as branching sees it. Null = its entropy was not measured. */
export interface MeasuredCall {
  readonly entropy: number | null;
}

/** A fork makes its own calls from this one on. Root and call are counted from 0. */
export interface ForkPlace {
  readonly root: number;
  readonly call: number;
}

/** Whether the number of roots depends on the first of them. */
export function hasSplitBudget(branching: Branching | null): boolean {
  return branching !== null && typeof branching.initialRollouts !== 'number';
}

/** How many of a group of `n` are roots; `first` = the calls of the first root, if they decide it. */
export function rootsOf(
  branching: Branching | null,
  n: number,
  first: readonly MeasuredCall[],
): number {
  if (branching === null) return n;
  const { initialRollouts: initial } = branching;
  const entropies = first.map(({ entropy }) => entropy ?? 0);
  const roots = typeof initial === 'number' ? initial : initial(n, entropies[0] ?? 0, entropies);
  return Math.min(roots, n);
}

/**
 * All forks that the method asks for, root by root and call by call; the caller takes as many as fit.
 * `uniform` gives the group's draws by number.
 */
export function forkPlaces(
  { beamSize, decide, penaltyScope = 'group' }: Branching,
  roots: readonly { readonly calls: readonly MeasuredCall[] }[],
  uniform: (drawn: number) => number,
): readonly ForkPlace[] {
  const tries = Math.max(0, beamSize - 1);
  const firstDraws = roots.map((_, root) =>
    roots.slice(0, root).reduce((sum, { calls }) => sum + tries * Math.max(0, calls.length - 1), 0),
  );
  const rounds = Math.max(0, ...roots.map(({ calls }) => calls.length));
  /** Consecutive rounds, up to the latest, that forked each root, and that forked any. */
  const inRow = roots.map(() => 0);
  let groupInRow = 0;
  const places: ForkPlace[] = [];
  for (let call = 1; call < rounds; call++) {
    const before = places.length;
    for (const [root, { calls }] of roots.entries()) {
      if (call >= calls.length) continue;
      const change = (calls[call]!.entropy ?? 0) - (calls[0]!.entropy ?? 0);
      const row = penaltyScope === 'path' ? inRow[root]! : groupInRow;
      const from = firstDraws[root]! + (call - 1) * tries;
      const forks = Array.from({ length: tries }, (_, i) => uniform(from + i)).filter((drawn) =>
        decide(change, drawn, row),
      );
      places.push(...forks.map(() => ({ root, call })));
      inRow[root] = forks.length > 0 ? inRow[root]! + 1 : 0;
    }
    groupInRow = places.length > before ? groupInRow + 1 : 0;
  }
  return places.sort((a, b) => a.root - b.root || a.call - b.call);
}
