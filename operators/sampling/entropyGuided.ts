/**
 * Tool-Light's entropy-guided sampling (§4.6): where a finished chain is worth branching from.
 *
 * Each step of a main chain is judged by the mean entropy of its first tokens, over several window lengths;
 * the chain is branched at the steps with the largest one, right after the tokens of that window.
 */
import { entropyTerm } from './stepEntropy.ts';

/** Log-probs per token for computing entropies, if an engine gives that many. */
export const LOG_PROBS_PER_TOKEN = 50;

/** Window lengths in tokens; 0 = the whole step. */
export const ENTROPY_WINDOWS = [10, 20, 30, 40, 50] as const;

export interface WindowEntropy {
  readonly window: number;
  /** Mean over the window's tokens of -Σ exp(l)·l (nats). */
  readonly entropy: number;
  /** Tokens that the window has: all of the step's if it is shorter. */
  readonly tokens: number;
}

/**
 * Mean entropies of a step of `tokens` tokens, one a window. `topLogProbs[t]` = returned log-probs of token
 * t, not renormalised; past the end of the list its last entry counts again.
 */
export function windowEntropies(
  topLogProbs: readonly (readonly number[])[],
  tokens: number,
  windows: readonly number[] = ENTROPY_WINDOWS,
): WindowEntropy[] {
  const last = topLogProbs.length - 1;
  return windows.map((window) => {
    const taken = window === 0 ? tokens : Math.min(window, tokens);
    let sum = 0;
    for (let t = 0; t < taken; t++) sum += tokenEntropy(topLogProbs[Math.min(t, last)]!);
    return { window, entropy: taken === 0 ? 0 : sum / taken, tokens: taken };
  });
}

function tokenEntropy(logProbs: readonly number[]): number {
  return logProbs.reduce((sum, logProb) => sum + entropyTerm(logProb), 0);
}

/** The window with the largest entropy; the first one of equals. */
export function widestWindow(windows: readonly WindowEntropy[]): WindowEntropy {
  return windows.reduce((best, window) => (window.entropy > best.entropy ? window : best));
}

/** A step of a main chain, as a place to branch. */
export interface BranchPoint {
  readonly step: number;
  /** Where a branch continues in the chain's text. */
  readonly position: number;
  readonly entropy: number;
  readonly window: number;
}

/** The `most` points with the largest entropy, largest first, equals in order. */
export function branchPoints(points: readonly BranchPoint[], most: number): BranchPoint[] {
  return points.toSorted((a, b) => b.entropy - a.entropy).slice(0, most);
}
