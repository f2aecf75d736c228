/**
 * Whitening of a batch's advantages: minus their mean, divided by their deviation, both over the tokens that
 * the policy wrote (REINFORCE++, ARPO reference §7.1).
 */
import { countSelected, whiten } from './matrix.ts';

/**
 * Advantages of response tokens, [rollout][token]; `policy[i][t]` is 1 where the policy wrote token t of
 * rollout i. Fewer than two such tokens have no deviation and stay as they are.
 */
export function whitened(
  perToken: readonly ArrayLike<number>[],
  policy: readonly ArrayLike<number>[],
): readonly ArrayLike<number>[] {
  const mask = policy.map((row) => Array.from(row));
  if (countSelected(mask) < 2) return perToken;
  return whiten(
    perToken.map((row) => Array.from(row)),
    mask,
  );
}
