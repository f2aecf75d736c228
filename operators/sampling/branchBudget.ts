/**
 * The budget of a group that branches: which branches are cloned after a round, and whether an idle group is
 * refilled (ARPO reference §1.5, steps 6 and 7). Pure: the caller keeps the branches, this decides.
 */

export interface BranchBudget {
  /** Rollouts that the group has in the end (n). */
  readonly rollouts: number;
  /** Rollouts created so far. */
  readonly created: number;
  /** A branch continues as at most this many (Z). */
  readonly beamSize: number;
}

export interface RoundPlan {
  /** For each clone, in order of creation, the index of its source among the surviving branches. */
  readonly clones: readonly number[];
  /** Start one fresh rollout from the bare prompt: no branch survived and the group is not full. */
  readonly refill: boolean;
}

/**
 * Plans what joins after a round. `decide(i)` is asked at most beamSize - 1 times for each surviving branch
 * i, in order, as long as the budget lasts; it draws.
 */
export function planRound(
  budget: BranchBudget,
  survivors: number,
  decide: (survivor: number) => boolean,
): RoundPlan {
  const left = budget.rollouts - budget.created;
  const clones: number[] = [];
  for (let i = 0; i < survivors && clones.length < left; i++) {
    const attempts = Math.min(budget.beamSize - 1, left - clones.length);
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (decide(i)) clones.push(i);
    }
  }
  return { clones, refill: survivors === 0 && left > 0 };
}
