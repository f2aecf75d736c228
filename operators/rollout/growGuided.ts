/**
 * Grows a group as Tool-Light's entropy-guided sampling does (§4.6): one main chain first; then branches of
 * it at the steps where the policy was least sure, each going on right after the tokens of the window with
 * the largest entropy. Where a question is sampled both ways, independent rollouts come before the chains.
 *
 * - The reference uses 50 log-probs per token; so does this, as far as the engine gives them (vLLM: 20).
 * - If the window is the whole step there is nothing left of it to sample: the reference goes on after a
 *   call without its result, or after the answer. Here such a step is sampled again from its beginning.
 * - A branch is known by `parent`; it begins with the entropies of the main chain's steps before its own, as
 *   in the reference.
 */
import type { EntropyGuided } from '../sampling/branching.ts';
import {
  type BranchPoint,
  branchPoints,
  widestWindow,
  windowEntropies,
} from '../sampling/entropyGuided.ts';
import { meanEntropy } from '../sampling/entropyOnly.ts';
import { advanceBranch, type Growth } from './advanceBranch.ts';
import { type Branch, root } from './branch.ts';
import { worldBefore } from './branchWorld.ts';

/** All branches of the group: the independent ones, the main chain and its branches; at most `rollouts`. */
export async function growGuided(
  growth: Growth,
  { steps, perStep, free = 0 }: EntropyGuided,
  rollouts: number,
): Promise<Branch[]> {
  const measured: Growth = { ...growth, watch: meanEntropy };
  const independent = Array.from({ length: free }, (_, index) => root(index));
  const main = root(free);
  const [points] = await Promise.all([
    mainChain(growth, main),
    ...independent.map((branch) => toItsEnd(measured, branch)),
  ]);
  const places = branchPoints(points, steps).flatMap(({ position }) =>
    Array.from({ length: perStep }, () => position),
  );
  const branches = places
    .slice(0, Math.max(0, rollouts - free - 1))
    .map((position, i) => branchAt(main, position, free + i + 1));
  await Promise.all(branches.map((branch) => toItsEnd(measured, branch)));
  return [...independent, main, ...branches];
}

/** Grows the main chain to its end; its steps as places to branch, `position` in response tokens. */
async function mainChain(growth: Growth, main: Branch): Promise<BranchPoint[]> {
  const points: BranchPoint[] = [];
  const measured: Growth = {
    ...growth,
    watch: (topLogProbs) => {
      const length = topLogProbs.length;
      const { entropy, window, tokens } = widestWindow(windowEntropies(topLogProbs, length));
      const position = main.tokens.length + (tokens < length ? tokens : 0);
      if (length > 0) points.push({ step: points.length, position, entropy, window });
      return meanEntropy(topLogProbs);
    },
  };
  await toItsEnd(measured, main);
  return points;
}

async function toItsEnd(growth: Growth, branch: Branch): Promise<void> {
  while (await advanceBranch(growth, branch));
}

/** A branch that shares the main chain's first `position` tokens; the calls finished in them count. */
function branchAt(main: Branch, position: number, index: number): Branch {
  const segments = main.segments
    .filter(({ start }) => start < position)
    // A step that is cut has not called yet, and its entropy is that of what the branch makes of it.
    .map((segment) =>
      segment.end <= position ? segment : { ...segment, end: position, tool: null, entropy: null },
    );
  // A tool segment names the tool of each call that it answers.
  const calls = segments.reduce(
    (sum, { kind, tool }) => sum + (kind === 'tool' ? (tool ?? '').split(',').length : 0),
    0,
  );
  return {
    ...root(index),
    parent: { index: main.index, offset: position },
    prompt: main.prompt,
    world: worldBefore(main.world, calls),
    tokens: main.tokens.slice(0, position),
    logProbs: main.logProbs.slice(0, position),
    segments,
    calls,
    turns: calls,
  };
}
