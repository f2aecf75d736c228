/**
 * Whether folding paid (DeepAgent §3.3): a rollout that folded its memory against those of its group that did
 * not.
 *
 *     S = (L_direct - L_fold) / (L_direct + L_fold)    between -1 and 1, above 0 if the folded one is shorter
 *
 * L is the number of tokens that the policy wrote, in all contexts together. L_direct is the mean over the
 * group's rollouts without a fold.
 */

/** What is compared in a rollout. */
export interface FoldedLength {
  /** Tokens that the policy wrote. */
  readonly length: number;
  readonly folds: number;
  /** Failed rollouts are neither compared nor compared with. */
  readonly failed?: boolean;
}

/** S of one length against another; 0 if both are 0. */
export function foldPreference(direct: number, fold: number): number {
  return direct + fold === 0 ? 0 : (direct - fold) / (direct + fold);
}

/**
 * S of each rollout of a group: 0 for those without a fold, and if the group has none without a fold to
 * compare with.
 */
export function foldPreferences(group: readonly FoldedLength[]): number[] {
  const direct = group.filter(({ folds, failed }) => folds === 0 && !failed);
  if (direct.length === 0) return group.map(() => 0);
  const mean = direct.reduce((sum, { length }) => sum + length, 0) / direct.length;
  return group.map(({ folds, length, failed }) =>
    folds === 0 || failed ? 0 : foldPreference(mean, length),
  );
}
