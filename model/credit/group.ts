/**
 * Group-relative advantages: how much better a rollout did than the other rollouts of its question, one
 * number per rollout, spread over all its tokens by the trainer (ARPO reference §7.1).
 *
 * One estimator per file; here is what they share. A group whose scores are all equal teaches nothing and
 * gets exactly 0.
 */

/** Scores of a group (and response lengths in tokens) to its advantages, in the same order. */
export type GroupAdvantage = (scores: readonly number[], lengths: readonly number[]) => number[];

/** An estimator that needs no lengths. */
export type ScoreAdvantage = (scores: readonly number[]) => number[];

/** Scores minus their mean. A group of one keeps its score. */
export function centredOrOwn(scores: readonly number[]): number[] {
  return scores.length === 1 ? [...scores] : centred(scores);
}

/** Scores minus their mean; exactly 0 where all are equal. */
export function centred(scores: readonly number[]): number[] {
  if (allEqual(scores)) return scores.map(() => 0);
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  return scores.map((score) => score - mean);
}

/** Unbiased standard deviation of two scores or more. */
export function sampleDeviation(scores: readonly number[]): number {
  const squares = centred(scores).reduce((sum, distance) => sum + distance ** 2, 0);
  return Math.sqrt(squares / (scores.length - 1));
}

/** Whether no rollout did better than another, so that the group teaches nothing. True for an empty list. */
export function allEqual(scores: readonly number[]): boolean {
  return scores.every((score) => score === scores[0]);
}
