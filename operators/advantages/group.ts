/**
 * Group-relative advantages: how much better a rollout did than the other rollouts of its question, one
 * number a rollout, spread over all its tokens by the trainer (ARPO reference §7.1).
 *
 * Each function takes the scores of one group; `opo` also takes the lengths. A group whose scores are all
 * equal teaches nothing and gets exactly 0.
 */

/** Scores of a group (and response lengths in tokens) to its advantages, in the same order. */
export type GroupAdvantage = (scores: readonly number[], lengths: readonly number[]) => number[];

export interface GrpoOptions {
  /** Divide by the sample deviation (default). False = Dr. GRPO: the centred scores. */
  readonly normByStd?: boolean;
}

/** Keeps a deviation of zero from dividing. */
const EPSILON = 1e-6;

/** GRPO: (s - mean) / (sample deviation + 1e-6). A group of one keeps its score. */
export function grpo({
  normByStd = true,
}: GrpoOptions = {}): (scores: readonly number[]) => number[] {
  return (scores) => {
    if (scores.length === 1) return normByStd ? [scores[0]! / (1 + EPSILON)] : [...scores];
    const spread = normByStd ? sampleDeviation(scores) + EPSILON : 1;
    return centred(scores).map((score) => score / spread);
  };
}

/** RLOO: the score minus the mean of the others. A group of one keeps its score. */
export function rloo(): (scores: readonly number[]) => number[] {
  return (scores) => {
    const n = scores.length;
    if (n === 1) return [...scores];
    return centred(scores).map((score) => (score * n) / (n - 1));
  };
}

/** OPO: the score minus the length-weighted mean of the group. A group of one keeps its score. */
export function opo(): GroupAdvantage {
  return (scores, lengths) => {
    if (scores.length === 1 || allEqual(scores)) return centredOrOwn(scores);
    const weighted = scores.reduce((sum, score, i) => sum + score * lengths[i]!, 0);
    const baseline = weighted / lengths.reduce((sum, length) => sum + length, 0);
    return scores.map((score) => score - baseline);
  };
}

/**
 * GRPO-passk: only the best rollout gets credit, its lead over the second best, divided by the sample
 * deviation + 1e-6 unless `normByStd` is false. Throws for a group of one.
 */
export function grpoPassk({
  normByStd = true,
}: GrpoOptions = {}): (scores: readonly number[]) => number[] {
  return (scores) => {
    if (scores.length < 2) {
      throw new Error(`pass@k needs 2 rollouts of a question or more, got ${scores.length}`);
    }
    const [first, second] = scores.toSorted((a, b) => b - a);
    const lead = (first! - second!) / (normByStd ? sampleDeviation(scores) + EPSILON : 1);
    const best = scores.indexOf(first!);
    return scores.map((_, i) => (i === best ? lead : 0));
  };
}

/** Scores minus their mean. A group of one keeps its score. */
export function centredOrOwn(scores: readonly number[]): number[] {
  return scores.length === 1 ? [...scores] : centred(scores);
}

/** Applies a group advantage to a batch in which `groups[i]` names the group of sequence i. */
export function perGroup(
  advantage: GroupAdvantage,
  scores: readonly number[],
  groups: readonly (string | number)[],
  lengths: readonly number[] = scores.map(() => 1),
): number[] {
  const members = new Map<string | number, number[]>();
  groups.forEach((group, i) => {
    members.set(group, [...(members.get(group) ?? []), i]);
  });
  const result = new Array<number>(scores.length).fill(0);
  for (const indices of members.values()) {
    const own = advantage(
      indices.map((i) => scores[i]!),
      indices.map((i) => lengths[i]!),
    );
    indices.forEach((i, place) => {
      result[i] = own[place]!;
    });
  }
  return result;
}

function centred(scores: readonly number[]): number[] {
  if (allEqual(scores)) return scores.map(() => 0);
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  return scores.map((score) => score - mean);
}

function sampleDeviation(scores: readonly number[]): number {
  const squares = centred(scores).reduce((sum, distance) => sum + distance ** 2, 0);
  return Math.sqrt(squares / (scores.length - 1));
}

function allEqual(scores: readonly number[]): boolean {
  return scores.every((score) => score === scores[0]);
}
