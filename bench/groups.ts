/**
 * Groups to select from, as points: variance of the tool calls of a group's rollouts, variance of their
 * correctness.
 *
 * `tied` are what runs give: 8 or 16 rollouts, up to five calls each, right or wrong. So few values are
 * possible that most groups share their point with others. `continuous` have no ties and many more fronts.
 */
import { type Draws, draws } from '../base/draws.ts';
import { dispersion } from '../operators/sampling/dispersion.ts';
import type { Point } from '../operators/sampling/fronts.ts';

/** The number of rollout groups that are really made; points are drawn from their variances. */
const POOL = 4096;
const CALLS_MAX = 5;

export function tiedPoints(count: number): Point[] {
  const coin = draws('bench', 'tied');
  const calls = variances(coin.under('calls'), CALLS_MAX + 1);
  const correct = variances(coin.under('correct'), 2);
  return Array.from(
    { length: count },
    (_, i): Point => [calls[coin.integer(2 * i, POOL)]!, correct[coin.integer(2 * i + 1, POOL)]!],
  );
}

export function continuousPoints(count: number): Point[] {
  const coin = draws('bench', 'continuous');
  return Array.from(
    { length: count },
    (_, i): Point => [coin.uniform(2 * i), coin.uniform(2 * i + 1)],
  );
}

/**
 * Variance of each of `POOL` groups whose rollouts have whole numbers below `below`, the greater the
 * likelier.
 */
function variances(coin: Draws, below: number): number[] {
  return Array.from({ length: POOL }, (_, group) => {
    const size = group % 2 === 0 ? 8 : 16;
    const skill = coin.uniform(17 * group + 16);
    const values = Array.from({ length: size }, (_, rollout) =>
      Math.floor(below * coin.uniform(17 * group + rollout) ** skill),
    );
    return dispersion(values);
  });
}
