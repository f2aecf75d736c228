/**
 * Grows the group of one question, round by round: every active branch generates one segment, tools run, then
 * (ARPO) branches are cloned and idle budget is refilled, until nothing is active. ARPO reference §1.5, per
 * question: its own draws and entropy baselines instead of the reference's batch-wide ones, so that questions
 * do not touch each other (the reference couples them by one random stream and a barrier).
 */
import { type DrawKey, draws } from '../../model/draws.ts';
import type { Tokenizer } from '../../model/engine.ts';
import type { Finish, Question, Rollout, ToolCall } from '../../streams/records.ts';
import type { RolloutOptions } from '../rollout.ts';
import { planRound } from '../sampling/branchBudget.ts';
import { appendGeneration, appendResult, type Branch, clone, root } from './branch.ts';
import { resultTokens } from './resultBlock.ts';

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

export interface Group {
  readonly rollouts: readonly Rollout[];
  readonly toolCalls: readonly ToolCall[];
}

interface Growth {
  readonly question: Question;
  readonly options: RolloutOptions;
  readonly signal: AbortSignal;
  readonly branching: Branching | null;
  /** Or why it cannot be made: then every rollout of the group fails with that reason. */
  readonly prompt: Int32Array | Error;
  readonly key: readonly DrawKey[];
  readonly branches: Branch[];
  readonly toolCalls: ToolCall[];
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
  const growth: Growth = {
    question,
    options,
    branching,
    signal,
    prompt: promptOf(question, options),
    key: [options.seed, id, phase, stage],
    branches: [],
    toolCalls: [],
  };
  const n = options.samples(question);
  const initial = Math.min(branching?.initialRollouts ?? n, n);
  for (let i = 0; i < initial; i++) growth.branches.push(root(i));
  const coin = draws(...growth.key, 'branch');
  let drawn = 0;
  let active = [...growth.branches];
  while (active.length > 0) {
    active = await advance(growth, active);
    active.push(...joining(growth, active, () => coin.uniform(drawn++)));
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

/** One segment for every active branch, and its tool call; gives back those that go on. */
async function advance(growth: Growth, active: readonly Branch[]): Promise<Branch[]> {
  const goesOn = await Promise.all(active.map((branch) => advanceBranch(growth, branch)));
  return active.filter((_, i) => goesOn[i]);
}

async function advanceBranch(growth: Growth, branch: Branch): Promise<boolean> {
  const { clock } = growth.options;
  try {
    const finish = await segment(growth, branch);
    if (finish === null) return true;
    branch.finish = finish;
  } catch (error) {
    if (growth.signal.aborted) throw error;
    branch.finish = 'failed';
    branch.reason = error instanceof Error ? error.message : String(error);
  }
  branch.endedMs = clock.now();
  return false;
}

/** Generates one segment and runs the call it ends in. Null = the branch goes on. */
async function segment(growth: Growth, branch: Branch): Promise<Finish | null> {
  const { prompt, options, key } = growth;
  const { engine, tokenizer, tools } = options;
  const { branching } = growth;
  if (prompt instanceof Error) throw prompt;
  const room = Math.min(
    options.responseMax - branch.tokens.length,
    engine.contextMax - prompt.length - branch.tokens.length,
  );
  if (room < 1 && branch.tokens.length === 0) {
    throw new Error(
      `a prompt of ${prompt.length} tokens leaves no room in a context of ${engine.contextMax}`,
    );
  }
  if (room < 1) return 'length';
  const made = await engine.generate(
    {
      tokens: Int32Array.from([...prompt, ...branch.tokens]),
      maxTokens: room,
      temperature: options.temperature,
      stopTokens: [tokenizer.endToken, ...tools.stopTokens],
      draws: [...key, branch.index],
      topLogProbs: branching?.entropyTokens ?? 0,
    },
    growth.signal,
  );
  const entropy = branching?.stepEntropy(made.topLogProbs, tokenizer.vocabSize) ?? null;
  const tool = made.finish === 'stop' ? tools.tagOf(made.tokens.at(-1)!) : null;
  appendGeneration(branch, made, entropy, tool);
  branch.entropyFirst ??= entropy;
  branch.entropyLast = entropy ?? 0;
  if (made.finish === 'length') return 'length';
  if (tool === null) {
    return hasAnswered(branch, tokenizer) ? 'answer' : 'stop';
  }
  return callTool(growth, branch, tool, tokenizer.decode(made.tokens));
}

/** Whether the policy itself closed an answer; what a tool wrote does not count. */
function hasAnswered({ tokens, segments }: Branch, tokenizer: Tokenizer): boolean {
  return segments.some(
    ({ kind, start, end }) =>
      kind === 'policy' && tokenizer.decode(tokens.slice(start, end)).includes('</answer>'),
  );
}

/** Runs the call that `text` ends in and appends its result. The limit counts empty calls too. */
async function callTool(
  growth: Growth,
  branch: Branch,
  tool: string,
  text: string,
): Promise<Finish | null> {
  const { options, question } = growth;
  if (branch.calls >= options.callLimit) return 'callLimit';
  const turn = branch.calls++;
  const open = text.lastIndexOf(`<${tool}>`);
  const input =
    open < 0 ? '' : text.slice(open + tool.length + 2, text.lastIndexOf(`</${tool}>`)).trim();
  if (input === '') return 'stop';
  const called = await options.tools.call(tool, input, growth.signal);
  growth.toolCalls.push({
    rolloutId: rolloutId(question, branch.index),
    questionId: question.id,
    turn,
    tool,
    input,
    ...called,
  });
  appendResult(branch, resultTokens(options.tokenizer, called.output), tool, options.responseMax);
  return branch.tokens.length >= options.responseMax ? 'length' : null;
}

/** What joins after a round: clones of the survivors, or a fresh rollout for a group that has none and is not full. */
function joining(growth: Growth, active: readonly Branch[], uniform: () => number): Branch[] {
  const { branches, options, question } = growth;
  const { branching } = growth;
  const plan = planRound(
    {
      rollouts: options.samples(question),
      created: branches.length,
      beamSize: branching?.beamSize ?? 1,
    },
    active.length,
    (i) => branching?.decide(entropyChange(active[i]!), uniform()) ?? false,
  );
  for (const source of plan.clones) branches.push(clone(active[source]!, branches.length));
  if (plan.refill) branches.push(root(branches.length));
  return branches.slice(branches.length - plan.clones.length - (plan.refill ? 1 : 0));
}

function entropyChange(branch: Branch): number {
  return branch.entropyLast - (branch.entropyFirst ?? branch.entropyLast);
}

export function rolloutId(question: Question, index: number): string {
  return `${question.id}/${question.phase}-${question.stage}/${index}`;
}

/** The calls of a group finish in any order; its records are written in that of branches and turns. */
function branchIndex(id: string): number {
  return Number(id.slice(id.lastIndexOf('/') + 1));
}

function finished(growth: Growth, branch: Branch, startedMs: number): Rollout {
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
