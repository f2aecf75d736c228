/**
 * Grows the group of one question, round by round: every active branch generates one segment, tools run, then
 * (ARPO, AEPO) branches are cloned and idle budget is refilled, until nothing is active. ARPO reference §1.5,
 * per question: its own draws, entropy baselines and count of rounds that grew, instead of the reference's
 * batch-wide ones, so that questions do not touch each other (the reference couples them by one random stream
 * and a barrier).
 *
 * A round decides who is cloned, and holds no branch back: a branch goes on as soon as its tool has answered,
 * and leaves what it was at the end of each round for the decision, which is the same whenever it is made.
 */
import { draws } from '../../base/index.ts';
import { samplingIn } from '../../model/index.ts';
import { asked, type Question, type Rollout, type ToolCall } from '../../topics/index.ts';
import { planRound } from '../sampling/branchBudget.ts';
import { isGuided } from '../sampling/branching.ts';
import { advanceBranch, type Growth, promptOf, stopsOf } from './advanceBranch.ts';
import { type Branch, clone, copy, partsOf, root } from './branch.ts';
import { worldEnd } from './branchWorld.ts';
import { growGuided } from './growGuided.ts';
import { checkHelping } from './helping.ts';
import { monitor } from './monitor.ts';
import type { Group, RolloutOptions } from './options.ts';

export type { Group };

import { precedence } from './precedence.ts';

interface GroupGrowth extends Growth {
  readonly branches: Branch[];
}

/**
 * Rejects only if `signal` aborts, and for help that branches cannot have; a rollout that fails is a failed
 * rollout.
 */
export async function growGroup(
  question: Question,
  options: RolloutOptions,
  signal: AbortSignal,
): Promise<Group> {
  const startedMs = options.clock.now();
  const { id, phase, round } = question;
  const strategy = options.branching(question);
  const branching = isGuided(strategy) ? null : strategy;
  if (options.helping !== undefined) {
    const shared = branching === null ? 'none' : 'rounds';
    checkHelping(options.helping, {
      branching: isGuided(strategy) ? 'guided' : shared,
      lagMax: 0,
    });
  }
  const growth: GroupGrowth = {
    question,
    options,
    branching,
    signal,
    prompt: groupPrompt(question, options),
    key: [options.seed, id, phase, round],
    owner: asked(question),
    branches: [],
    toolCalls: [],
  };
  let monitored: readonly ToolCall[] = [];
  if (isGuided(strategy)) {
    growth.branches.push(...(await growGuided(growth, strategy, options.samples(question))));
  } else monitored = await growByRounds(growth);
  const rollouts = growth.branches.map((branch) => finished(growth, branch, startedMs));
  const toolCalls = [...growth.toolCalls].sort(
    (a, b) => branchIndex(a.rolloutId) - branchIndex(b.rolloutId) || a.turn - b.turn,
  );
  return { rollouts, toolCalls: [...monitored, ...toolCalls] };
}

/** Runs rounds until nothing is active: see above. Returns a monitored rollout's calls. */
async function growByRounds(growth: GroupGrowth): Promise<readonly ToolCall[]> {
  const { roots, monitored } = await rootsOf(growth);
  for (let i = 0; i < roots; i++) growth.branches.push(root(i));
  const coin = draws(...growth.key, 'branch');
  let drawn = 0;
  let consecutive = 0;
  let active = growth.branches.map((branch) => advance(growth, branch));
  while (active.length > 0) {
    const surviving = (await Promise.all(active)).flatMap((survivor) => survivor ?? []);
    await lookAheadOf(growth, surviving);
    const joined = joining(growth, surviving, consecutive, () => coin.uniform(drawn++));
    consecutive = joined.length > 0 ? consecutive + 1 : 0;
    const going = surviving.map(({ next }) => next);
    active = [...going, ...joined.map((branch) => advance(growth, branch))];
  }
  return monitored;
}

/** A branch that continues after a round. */
interface Survivor {
  readonly branch: Branch;
  /** Its state at the end of the round. */
  readonly then: Branch;
  /** Its next round, already under way; null: it has ended. */
  readonly next: Promise<Survivor | null>;
}

/** One segment and its tool call, and on to the next. */
async function advance(growth: GroupGrowth, branch: Branch): Promise<Survivor | null> {
  if (!(await advanceBranch(growth, branch))) return null;
  // Nothing needs the state of a branch in a full group any more.
  const then = isFull(growth) ? branch : copy(branch);
  const next = advance(growth, branch);
  // Rejects if the signal aborts; the round being waited for may do so first.
  next.catch(() => undefined);
  return { branch, then, next };
}

function isFull({ branches, options, question }: GroupGrowth): boolean {
  return branches.length >= options.samples(question);
}

function groupPrompt({ question }: Question, options: RolloutOptions): Int32Array | Error {
  try {
    return options.dialect.prompt(question);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/**
 * Rollouts to start with (N ≤ n): all without branching, otherwise as set or as a monitored rollout suggests.
 */
async function rootsOf(
  growth: Growth,
): Promise<{ readonly roots: number; readonly monitored: readonly ToolCall[] }> {
  const { branching, options, question } = growth;
  const n = options.samples(question);
  if (branching === null) return { roots: n, monitored: [] };
  const { initialRollouts: initial, entropyTokens } = branching;
  if (typeof initial === 'number') return { roots: Math.min(initial, n), monitored: [] };
  const seen = await monitor(growth, entropyTokens);
  const roots = Math.min(initial(n, seen.rootEntropy, seen.segmentEntropies), n);
  return { roots, monitored: seen.toolCalls };
}

/** Where branches are asked after their results: asks those that survive, while there may be clones. */
async function lookAheadOf(growth: GroupGrowth, surviving: readonly Survivor[]): Promise<void> {
  if (growth.branching?.entropyAt !== 'result' || isFull(growth)) return;
  await Promise.all(surviving.map(({ then }) => lookAhead(growth, then)));
}

/**
 * What joins after a round: clones of the survivors, or a fresh rollout if a group has no survivors and is
 * not full.
 */
function joining(
  growth: GroupGrowth,
  surviving: readonly Survivor[],
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
    surviving.length,
    (i) => {
      const { branch, then } = surviving[i]!;
      const rounds = branching?.penaltyScope === 'path' ? branch.consecutive : consecutive;
      return branching?.decide(entropyChange(then), uniform(), rounds) ?? false;
    },
  );
  for (const [i, { branch }] of surviving.entries()) {
    branch.consecutive = plan.clones.includes(i) ? branch.consecutive + 1 : 0;
  }
  for (const source of plan.clones) {
    const { then, branch } = surviving[source]!;
    const heir = branching?.entropyAt === 'result' ? { entropyFirst: then.entropyFirst } : {};
    const { consecutive } = branch;
    branches.push({ ...clone(then, branches.length), ...heir, consecutive });
  }
  if (plan.refill) branches.push(root(branches.length));
  return branches.slice(branches.length - plan.clones.length - (plan.refill ? 1 : 0));
}

/**
 * How sure the branch is after its result: the first tokens of its continuation, which are sampled again
 * then.
 */
async function lookAhead(growth: GroupGrowth, branch: Branch): Promise<void> {
  const { options, key, branching, signal } = growth;
  const { engine, dialect } = options;
  const room = Math.min(branching!.entropyTokens, options.responseMax - branch.tokens.length);
  if (room < 1) return;
  try {
    const prompt = promptOf(growth, branch);
    const ahead = await engine.generate(
      {
        tokens: Int32Array.from([...prompt, ...branch.tokens]),
        maxTokens: room,
        ...samplingIn(options),
        ...stopsOf(dialect, prompt, branch),
        draws: [...key, branch.index],
        topLogProbs: room,
        priority: precedence(growth.question),
      },
      signal,
    );
    branch.entropyLast = branching!.stepEntropy(ahead.topLogProbs, dialect.tokenizer.vocabSize);
  } catch (error) {
    // If the branch is faulty, that shows when it continues.
    if (signal.aborted) throw error;
  }
}

function entropyChange(branch: Branch): number {
  return branch.entropyLast - (branch.entropyFirst ?? branch.entropyLast);
}

/** The calls of a group finish in any order; its records are written in the order of branches and turns. */
function branchIndex(id: string): number {
  return Number(id.slice(id.lastIndexOf('/') + 1));
}

function finished(growth: GroupGrowth, branch: Branch, startedMs: number): Rollout {
  const { question, options } = growth;
  const prompt = branch.prompt ?? growth.prompt;
  const finish = branch.finish ?? 'failed';
  return {
    id: `${growth.owner}/${branch.index}`,
    question,
    index: branch.index,
    groupSize: growth.branches.length,
    seed: options.seed,
    prompt: prompt instanceof Error ? new Int32Array(0) : prompt,
    tokens: Int32Array.from(branch.tokens),
    logProbs: Float32Array.from(branch.logProbs),
    segments: branch.segments,
    text: options.dialect.read(partsOf(branch, options.dialect)),
    toolCalls: branch.calls,
    parent: branch.parent,
    version: branch.segments[0]?.version ?? options.gate.version,
    status: finish === 'failed' ? 'failed' : 'done',
    finish,
    reason: branch.reason,
    startedMs,
    endedMs: branch.endedMs,
    episode: null,
    world: worldEnd(branch.world),
  };
}
