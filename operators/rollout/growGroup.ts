/**
 * Grows the group of one question, round by round: every active branch generates one segment, tools run, then
 * (ARPO, AEPO) branches are cloned and idle budget is refilled, until nothing is active. ARPO reference §1.5, per
 * question: its own draws, entropy baselines and count of rounds that grew, instead of the reference's batch-wide
 * ones, so that questions do not touch each other (the reference couples them by one random stream and a barrier).
 */
import { draws } from '../../model/draws.ts';
import type { Question, Rollout, ToolCall } from '../../streams/records.ts';
import type { RolloutOptions } from '../rollout.ts';
import { planRound } from '../sampling/branchBudget.ts';
import { advanceBranch, type Growth, rolloutId } from './advanceBranch.ts';
import { type Branch, clone, root } from './branch.ts';
import { monitor } from './monitor.ts';

export interface Group {
  readonly rollouts: readonly Rollout[];
  readonly toolCalls: readonly ToolCall[];
}

interface GroupGrowth extends Growth {
  readonly branches: Branch[];
}

/** Rejects only when `signal` aborts; a rollout that fails is a failed rollout. */
export async function growGroup(
  question: Question,
  options: RolloutOptions,
  signal: AbortSignal,
): Promise<Group> {
  const startedMs = options.clock.now();
  const { id, phase, stage } = question;
  const branching = options.branching(question);
  const growth: GroupGrowth = {
    question,
    options,
    branching,
    signal,
    prompt: promptOf(question, options),
    key: [options.seed, id, phase, stage],
    branches: [],
    toolCalls: [],
  };
  const roots = await rootsOf(growth);
  for (let i = 0; i < roots; i++) growth.branches.push(root(i));
  const coin = draws(...growth.key, 'branch');
  let drawn = 0;
  let consecutive = 0;
  let active = [...growth.branches];
  while (active.length > 0) {
    active = await advance(growth, active);
    const joined = joining(growth, active, consecutive, () => coin.uniform(drawn++));
    consecutive = joined.length > 0 ? consecutive + 1 : 0;
    active.push(...joined);
  }
  const rollouts = growth.branches.map((branch) => finished(growth, branch, startedMs));
  const toolCalls = [...growth.toolCalls].sort(
    (a, b) => branchIndex(a.rolloutId) - branchIndex(b.rolloutId) || a.turn - b.turn,
  );
  return { rollouts, toolCalls };
}

function promptOf({ question }: Question, options: RolloutOptions): Int32Array | Error {
  try {
    return options.prompt(question);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Rollouts to start with (N ≤ n): all without branching, else as set or as a monitored rollout shows. */
async function rootsOf(growth: Growth): Promise<number> {
  const { branching, options, question } = growth;
  const n = options.samples(question);
  if (branching === null) return n;
  const { initialRollouts: initial, entropyTokens } = branching;
  if (typeof initial === 'number') return Math.min(initial, n);
  const seen = await monitor(growth, entropyTokens);
  return Math.min(initial(n, seen.rootEntropy, seen.segmentEntropies), n);
}

/** One segment for every active branch, and its tool call; gives back those that go on. */
async function advance(growth: Growth, active: readonly Branch[]): Promise<Branch[]> {
  const goesOn = await Promise.all(active.map((branch) => advanceBranch(growth, branch)));
  return active.filter((_, i) => goesOn[i]);
}

/** What joins after a round: clones of the survivors, or a fresh rollout for a group that has none and is not full. */
function joining(
  growth: GroupGrowth,
  active: readonly Branch[],
  consecutive: number,
  uniform: () => number,
): Branch[] {
  const { branches, options, question } = growth;
  const { branching } = growth;
  const plan = planRound(
    {
      rollouts: options.samples(question),
      created: branches.length,
      beamSize: branching?.beamSize ?? 1,
    },
    active.length,
    (i) => branching?.decide(entropyChange(active[i]!), uniform(), consecutive) ?? false,
  );
  for (const source of plan.clones) branches.push(clone(active[source]!, branches.length));
  if (plan.refill) branches.push(root(branches.length));
  return branches.slice(branches.length - plan.clones.length - (plan.refill ? 1 : 0));
}

function entropyChange(branch: Branch): number {
  return branch.entropyLast - (branch.entropyFirst ?? branch.entropyLast);
}

/** The calls of a group finish in any order; its records are written in that of branches and turns. */
function branchIndex(id: string): number {
  return Number(id.slice(id.lastIndexOf('/') + 1));
}

function finished(growth: GroupGrowth, branch: Branch, startedMs: number): Rollout {
  const { question, options, prompt } = growth;
  const finish = branch.finish ?? 'failed';
  return {
    id: rolloutId(question, branch.index),
    question,
    index: branch.index,
    groupSize: growth.branches.length,
    seed: options.seed,
    prompt: prompt instanceof Error ? new Int32Array(0) : prompt,
    tokens: Int32Array.from(branch.tokens),
    logProbs: Float32Array.from(branch.logProbs),
    segments: branch.segments,
    text: options.tokenizer.decode(
      branch.tokens.filter((token) => token !== options.tokenizer.endToken),
    ),
    toolCalls: branch.calls,
    parent: branch.parent,
    version: branch.segments[0]?.version ?? options.gate.version,
    status: finish === 'failed' ? 'failed' : 'done',
    finish,
    reason: branch.reason,
    startedMs,
    endedMs: branch.endedMs,
  };
}
