/** What a preference criterion sees of a rollout, and its result for a group. */
import type { PreferencePair, Rollout, Scored } from '../../topics/index.ts';

/** A finished rollout, as a preference criterion sees it. */
export interface Candidate {
  readonly text: string;
  readonly correct: boolean;
  /** The whole reward. */
  readonly score: number;
  readonly toolCalls: number;
  /** Response tokens, including tool results. */
  readonly length: number;
  /** Mean of its steps' entropies; 0 if none was measured. */
  readonly entropy: number;
  /** Its number in the group (default 0). */
  readonly index?: number;
}

/** A criterion's result for a group. */
export interface CriterionResult {
  /** The criterion's class of the question; '' if it has none. */
  readonly difficulty: string;
  /** Best first. */
  readonly pairs: readonly PreferencePair[];
}

/**
 * A group of candidates to pairs; `tools` are the tags that call a tool. Pure; equals stay in the order of
 * the rollouts.
 */
export type Criterion = (
  candidates: readonly Candidate[],
  tools: readonly string[],
) => CriterionResult;

/** An answer to a question of knowledge counts as right from this F1 on, as in Pareto sampling. */
export const RIGHT_FROM = 0.75;

/** The finished rollouts of a scored group as candidates, in order; `rollouts[i]` belongs to `rewards[i]`. */
export function candidatesOf(scored: Scored, rollouts: readonly Rollout[]): Candidate[] {
  return rollouts.flatMap((rollout, i): Candidate[] => {
    if (rollout.status !== 'done') return [];
    const { score, parts } = scored.rewards[i]!;
    return [
      {
        text: rollout.text,
        score,
        toolCalls: rollout.toolCalls,
        correct: (parts.raw ?? 0) >= RIGHT_FROM,
        length: rollout.tokens.length,
        entropy: meanEntropy(rollout),
        index: rollout.index,
      },
    ];
  });
}

function meanEntropy({ segments }: Rollout): number {
  const entropies = segments.flatMap(({ entropy }) => (entropy === null ? [] : [entropy]));
  return entropies.length === 0 ? 0 : entropies.reduce((a, b) => a + b, 0) / entropies.length;
}

/** A number to order candidates by, smallest first. */
export type SortKey = (candidate: Candidate) => number;

/** The same, largest first. */
export function descending(key: SortKey): SortKey {
  return (candidate) => -key(candidate);
}

/** The candidates by the first key, equals by the next, and finally in their original order. */
export function sortedBy(
  candidates: readonly Candidate[],
  ...keys: readonly SortKey[]
): Candidate[] {
  return candidates.toSorted((a, b) => {
    for (const key of keys) {
      const difference = key(a) - key(b);
      if (difference !== 0) return difference;
    }
    return 0;
  });
}

/** Every chosen with every rejected, in order, at most `pairsMax`, never a text against itself. */
export function allPairs(
  chosen: readonly Pick<Candidate, 'text'>[],
  rejected: readonly Candidate[],
  pairsMax: number,
  why: string,
): PreferencePair[] {
  return chosen
    .flatMap((better) =>
      rejected
        .filter(({ text }) => text !== better.text)
        .map((worse) => ({ chosen: better.text, rejected: worse.text, why })),
    )
    .slice(0, pairsMax);
}
