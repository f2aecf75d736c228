/**
 * How much the rollouts of one question disagree: the objective of Pareto sampling (ET-Agent §7.1).
 *
 * Sums run in numpy's pairwise order. It matters: fronts are made by exact comparisons, and the last bits of
 * a variance depend on the order of its summands.
 */
import type { Ability } from '../../topics/index.ts';

/**
 * Population variance; 0 for an empty list. `deviation` is its root, the paper's form: same order, other
 * distances.
 */
export function dispersion(
  values: readonly number[],
  measure: 'variance' | 'deviation' = 'variance',
): number {
  if (values.length === 0) return 0;
  const mean = pairwiseSum(values) / values.length;
  const variance = pairwiseSum(values.map((value) => (value - mean) ** 2)) / values.length;
  return measure === 'variance' ? variance : Math.sqrt(variance);
}

/** An answer to a question of knowledge counts as right from this F1 on. */
const RIGHT_FROM = 0.75;

/** Whether a group has right and wrong rollouts; a group without both gives no advantage. */
export function isMixed(correctness: readonly number[], ability: Ability): boolean {
  if (ability === 'math') return correctness.includes(0) && correctness.includes(1);
  const right = correctness.filter((value) => value >= RIGHT_FROM).length;
  return right > 0 && right < correctness.length;
}

const LANES = 8;
const BLOCK_MAX = 128;

/** Sum in numpy's order: up to 128 summands in eight lanes, more by halves. */
export function pairwiseSum(values: readonly number[]): number {
  return sumRange(values, 0, values.length);
}

function sumRange(values: readonly number[], start: number, end: number): number {
  const count = end - start;
  if (count < LANES) return sumInOrder(values, start, end, 0);
  if (count <= BLOCK_MAX) return sumInLanes(values, start, end);
  const half = Math.floor(count / 2);
  const middle = start + half - (half % LANES);
  return sumRange(values, start, middle) + sumRange(values, middle, end);
}

function sumInOrder(values: readonly number[], start: number, end: number, from: number): number {
  let sum = from;
  for (let i = start; i < end; i++) sum += values[i]!;
  return sum;
}

function sumInLanes(values: readonly number[], start: number, end: number): number {
  const lanes = values.slice(start, start + LANES);
  let i = start + LANES;
  for (; i + LANES <= end; i += LANES) {
    for (let lane = 0; lane < LANES; lane++) lanes[lane]! += values[i + lane]!;
  }
  return sumInOrder(values, i, end, sumInPairs(lanes));
}

/** ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)) */
function sumInPairs(lanes: readonly number[]): number {
  let tree = lanes;
  while (tree.length > 1) {
    const level = tree;
    tree = level.flatMap((left, i) => (i % 2 === 0 ? [left + level[i + 1]!] : []));
  }
  return tree[0]!;
}
