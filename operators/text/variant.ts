/**
 * The three variants of the text functions.
 *
 * The published implementation has three copies of its text code that have diverged. A number can only be
 * compared with a published one if it uses the copy of its stage:
 *
 * - `rollout`: flywheel, direct rollout and evaluation. Forgiving: an unclosed box gives its tail.
 * - `selection`: Pareto sampling and the filter of supervised data. Strict about the format.
 * - `reward`: the reward of the RL stage. An unclosed box does not count.
 */
export type Variant = 'rollout' | 'selection' | 'reward';
