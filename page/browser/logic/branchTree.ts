/**
 * Where the lines of a group's rollouts run: x is the place in tokens, each rollout is a row, and a branch
 * begins where it left its parent. Children are under their parents. Pure.
 */
export interface TreeRollout {
  readonly index: number;
  readonly parent: { readonly index: number; readonly offset: number } | null;
  /** Tokens. */
  readonly length: number;
}

export interface TreeLine {
  readonly index: number;
  readonly row: number;
  readonly depth: number;
  /** Both as shares (0..1) of the longest rollout. */
  readonly start: number;
  readonly end: number;
  /** Row that it left; null for a root. */
  readonly from: number | null;
}

/** More rollouts than these are not drawn one by one. */
export const treeLinesMax = 64;

export function treeLines(rollouts: readonly TreeRollout[]): readonly TreeLine[] {
  const longest = Math.max(1, ...rollouts.map(({ length }) => length));
  const known = new Set(rollouts.map(({ index }) => index));
  const children = new Map<number, TreeRollout[]>();
  const roots: TreeRollout[] = [];
  for (const rollout of [...rollouts].sort((a, b) => a.index - b.index)) {
    const { parent } = rollout;
    // A parent that is not here, or that comes later (no true record has one), makes a root.
    if (parent === null || !known.has(parent.index) || parent.index >= rollout.index) {
      roots.push(rollout);
    } else {
      children.set(parent.index, [...(children.get(parent.index) ?? []), rollout]);
    }
  }
  const lines: TreeLine[] = [];
  const place = (rollout: TreeRollout, depth: number, from: number | null): void => {
    const row = lines.length;
    const start = from === null ? 0 : Math.min(1, (rollout.parent?.offset ?? 0) / longest);
    const end = Math.max(start, rollout.length / longest);
    lines.push({ index: rollout.index, row, depth, start, end, from });
    // The one that left last is nearest, so that no line crosses another.
    const own = [...(children.get(rollout.index) ?? [])].sort(
      (a, b) => b.parent!.offset - a.parent!.offset,
    );
    for (const child of own) place(child, depth + 1, row);
  };
  for (const root of roots) place(root, 0, null);
  return lines;
}
