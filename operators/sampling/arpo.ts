/**
 * ARPO's branching: a rollout that becomes less sure after a tool's answer is cloned more often
 * (ARPO reference §1.3, §1.4).
 *
 * With ΔH = entropy of the newest segment - entropy of the branch's first one, a clone is made with
 * probability b + w·ΔH (held within 0 and 1).
 */
import type { Branching } from './branching.ts';
import { ENTROPY_TOKENS, stepEntropy } from './stepEntropy.ts';

/** ARPO's settings, by the symbols of the paper. */
export interface ArpoOptions {
  /** Roots of a group; the rest of its rollouts are clones and refills (N). */
  readonly initialRollouts: number;
  /** A branch continues as at most this many after each round (Z). */
  readonly beamSize: number;
  /** Probability of a clone at ΔH = 0 (b). */
  readonly branchProbability: number;
  /** How much ΔH moves it (w). */
  readonly entropyWeight: number;
  /** See `Branching`; as released if left out. */
  readonly entropyAt?: Branching['entropyAt'];
}

/** Whether one attempt makes a clone; `uniform` is the attempt's draw in [0, 1). */
export function arpoDecision(
  { branchProbability, entropyWeight }: Pick<ArpoOptions, 'branchProbability' | 'entropyWeight'>,
  entropyChange: number,
  uniform: number,
): boolean {
  const threshold = Math.min(1, Math.max(0, uniform - entropyWeight * entropyChange));
  return threshold <= branchProbability;
}

/** The branching policy that `rollout` takes. */
export function arpo(options: ArpoOptions): Branching {
  return {
    initialRollouts: options.initialRollouts,
    beamSize: options.beamSize,
    entropyTokens: ENTROPY_TOKENS,
    stepEntropy,
    entropyAt: options.entropyAt ?? 'call',
    decide: (entropyChange, uniform) => arpoDecision(options, entropyChange, uniform),
  };
}
