/**
 * The branching policy of a group: what `growGroup` asks while it grows one. A policy holds no state and draws
 * nothing, so one value serves every question; ARPO is one.
 */

/** What a branching policy is asked; `uniform` gives the group's next draw. */
export interface Branching {
  /** Roots to start with (N ≤ n). */
  readonly initialRollouts: number;
  /** Clones tried per branch and round, plus one (Z). */
  readonly beamSize: number;
  /** Step entropy of a segment from the top log-probs of its first tokens. */
  readonly stepEntropy: (topLogProbs: readonly (readonly number[])[], vocabSize: number) => number;
  /** First tokens of a segment whose top log-probs are asked for. */
  readonly entropyTokens: number;
  readonly decide: (entropyChange: number, uniform: number) => boolean;
}
