/**
 * Tool-Light's criteria for preference pairs (§4.6), in two rounds: pre-aligned (what the fine-tuned policy
 * samples, by itself or guided by entropy), then self-evolved (what the policy of each loop samples).
 *
 * How hard a question is follows from all its responses. Pairs are made of those of the strict format alone,
 * none longer than `tokensMax`. The method does not say which of several wrong responses is rejected in round
 * 1: the one that calls most, then the longest.
 */
import type { PreferencePair } from '../../topics/index.ts';
import { isPreferenceFormat } from '../dialect/preferenceFormat.ts';
import { withEmptyResults } from '../dialect/results.ts';
import {
  allPairs,
  type Candidate,
  type Criterion,
  descending,
  type SortKey,
  sortedBy,
} from './candidate.ts';

/** Limits of all three of Tool-Light's criteria. */
export interface ToolLightOptions {
  /** Limit of pairs per question (default 1). */
  readonly pairsMax?: number;
  /** Longest response in tokens (default 6000). */
  readonly tokensMax?: number;
}

/** Those of the guided criterion, which may fall back on a demonstration. */
export interface GuidedOptions extends ToolLightOptions {
  /** The question's demonstration, chosen if no chain is right; left out = then there is no pair. */
  readonly demonstration?: Pick<Candidate, 'text' | 'toolCalls'>;
}

const calls: SortKey = ({ toolCalls }) => toolCalls;
const entropy: SortKey = (candidate) => candidate.entropy;
const length: SortKey = (candidate) => candidate.length;

/** How many of all candidates are right and wrong, and which of them may form pairs. */
interface Sides {
  readonly rights: number;
  readonly wrongs: number;
  readonly right: readonly Candidate[];
  readonly wrong: readonly Candidate[];
}

function sidesOf(
  candidates: readonly Candidate[],
  tools: readonly string[],
  { tokensMax = 6000 }: ToolLightOptions,
): Sides {
  const usable = candidates.filter(
    (candidate) =>
      candidate.length <= tokensMax && isPreferenceFormat(withEmptyResults(candidate.text), tools),
  );
  const rights = candidates.filter(({ correct }) => correct).length;
  return {
    rights,
    wrongs: candidates.length - rights,
    right: usable.filter(({ correct }) => correct),
    wrong: usable.filter(({ correct }) => !correct),
  };
}

/**
 * Round 1, chains sampled freely: the shortest right one against a longer wrong one, or one that calls more.
 */
export function preAlignedVanilla(options: ToolLightOptions = {}): Criterion {
  return (candidates, tools) => {
    const { rights, right, wrong } = sidesOf(candidates, tools, options);
    const difficulty = vanillaClass(rights, candidates.length);
    const shortest = sortedBy(right, length)[0];
    if (difficulty === '' || shortest === undefined) return { difficulty, pairs: [] };
    const worse = wrong.filter(
      (candidate) => candidate.length > shortest.length || candidate.toolCalls > shortest.toolCalls,
    );
    return { difficulty, pairs: against(shortest, worse, 'vanilla', options) };
  };
}

/**
 * Easy from 70 % right, hard up to 40 %, neither in between. In whole numbers, so that the limits are exact.
 */
function vanillaClass(rights: number, all: number): string {
  if (10 * rights >= 7 * all) return all === 0 ? '' : 'easy';
  return 10 * rights <= 4 * all ? 'hard' : '';
}

/**
 * Round 1, a main chain and its branches: the right one with the fewest calls against a wrong one with more.
 */
export function preAlignedGuided(options: GuidedOptions = {}): Criterion {
  return (candidates, tools) => {
    const { rights, wrongs, right, wrong } = sidesOf(candidates, tools, options);
    const difficulty = candidates.length === 0 ? '' : rights >= wrongs ? 'easy' : 'hard';
    const best = sortedBy(right, calls, entropy)[0] ?? options.demonstration;
    if (best === undefined) return { difficulty, pairs: [] };
    const worse = wrong.filter(({ toolCalls }) => toolCalls > best.toolCalls);
    return { difficulty, pairs: against(best, worse, 'guided', options) };
  };
}

/**
 * Round 1, a question that was sampled both ways: the first `free` of its group freely, the others guided.
 * How hard it is follows from each way by itself, so the class is part of each pair's rule.
 */
export function preAlignedBoth(free: number, options: GuidedOptions = {}): Criterion {
  const ways = [preAlignedVanilla(options), preAlignedGuided(options)];
  return (candidates, tools) => {
    const isFree = ({ index = 0 }: Candidate): boolean => index < free;
    const groups = [candidates.filter(isFree), candidates.filter((one) => !isFree(one))];
    const pairs = ways.flatMap((way, i) => {
      const { difficulty, pairs: own } = way(groups[i]!, tools);
      return own.map((pair) => ({ ...pair, why: `${pair.why}/${difficulty}` }));
    });
    return { difficulty: '', pairs };
  };
}

/**
 * Round 2, on-policy. Easy: the right one with the fewest calls against the wrong one with most. Hard (fewer
 * than half as many right as wrong): the longest right one against the shortest wrong one.
 */
export function selfEvolved(options: ToolLightOptions = {}): Criterion {
  const { pairsMax = 1 } = options;
  const why = 'self-evolved';
  return (candidates, tools) => {
    const { rights, wrongs, right, wrong } = sidesOf(candidates, tools, options);
    if (candidates.length === 0) return { difficulty: '', pairs: [] };
    if (2 * rights < wrongs) {
      const chosen = sortedBy(right, descending(length)).slice(0, 1);
      return {
        difficulty: 'hard',
        pairs: allPairs(chosen, sortedBy(wrong, length), pairsMax, why),
      };
    }
    const chosen = sortedBy(right, calls, entropy).slice(0, 1);
    const rejected = sortedBy(wrong, descending(calls));
    return { difficulty: 'easy', pairs: allPairs(chosen, rejected, pairsMax, why) };
  };
}

function against(
  better: Pick<Candidate, 'text'>,
  worse: readonly Candidate[],
  why: string,
  { pairsMax = 1 }: ToolLightOptions,
): PreferencePair[] {
  return allPairs([better], sortedBy(worse, descending(calls), descending(length)), pairsMax, why);
}
