/**
 * Grows a question's group by running an agent n times: each run is a session of the gateway, and becomes a
 * rollout.
 */
import {
  type Clock,
  type DrawKey,
  draws,
  MillraceError,
  messageOf,
  raceAbort,
  Semaphore,
} from '../base/index.ts';
import { samplingIn } from '../model/index.ts';
import type { Grow, RolloutOptions } from '../operators/rollout/index.ts';
import { type Branching, isGuided } from '../operators/sampling/index.ts';
import type { McpServer } from '../operators/tools/mcp/index.ts';
import {
  type McpCallRecord,
  type ModelCallRecord,
  type Question,
  type Rollout,
  rolloutId,
} from '../topics/index.ts';
import type { Agent } from './agents/agent.ts';
import { watchExactness } from './exactness.ts';
import { forkPlaces, hasSplitBudget, rootsOf } from './forkPlaces.ts';
import type { CallNode } from './sessions/callTree.ts';
import type { PolicyChat } from './sessions/policyChat.ts';
import { type AgentEnd, rolloutOf, type SessionOf } from './sessions/rolloutOf.ts';
import { Session, type SessionLimits, type SessionOptions } from './sessions/session.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { JudgedSession } from './verifier/session.ts';
import type { Case, Verdict, Verifier } from './verifier/verifier.ts';

/** What sessions are made with. */
export interface SessionsOf {
  readonly agent: Agent;
  readonly sessions: Sessions;
  readonly chat: PolicyChat;
  /** The gateway's address, to which the session is appended. */
  readonly address: string;
  readonly limits: SessionLimits;
  /** Agents that run at once, over all questions. */
  readonly atOnce: number;
  readonly commit: (record: ModelCallRecord) => Promise<void>;
  /** Calls that this session committed before a crash, or that it shares with the session it forked from. */
  readonly past: (id: string) => Promise<readonly ModelCallRecord[]>;
  /** MCP servers that agents reach through the gateway; left out = none. */
  readonly mcp?: AgentMcp;
  readonly clock: Clock;
  readonly report: (line: string) => void;
  /** Rewards the sessions; left out = the agent posts its reward, or its answer is scored. */
  readonly verifier?: Verifier;
}

/** MCP servers of agents. */
export interface AgentMcp {
  readonly servers: ReadonlyMap<string, McpServer>;
  readonly commit: (record: McpCallRecord) => Promise<void>;
  /** As `past`, for tool calls. */
  readonly past: (id: string) => Promise<readonly McpCallRecord[]>;
}

/** See above. */
export function growSessions(gateway: SessionsOf): Grow {
  const see = watchExactness(gateway.report);
  const places = new Semaphore(gateway.atOnce);
  return async (question, options, signal) => {
    const strategy = options.branching(question);
    if (isGuided(strategy))
      throw new MillraceError(
        'USAGE',
        'agents do not support this branching: set branching=none, arpo or aepo',
      );
    const n = options.samples(question);
    const group: Group = {
      gateway,
      question,
      groupSize: n,
      options,
      signal,
      see,
      branching: strategy,
    };
    const run = (index: number, fork: Fork | null): Promise<Ran> =>
      places.run(() => runOnce(group, index, fork), signal);
    // If the policy's uncertainty decides the budget, the group's first run measures it.
    const first = hasSplitBudget(strategy) ? [await run(0, null)] : [];
    const others = range(first.length, rootsOf(strategy, n, first[0]?.calls ?? []));
    const roots = [...first, ...(await Promise.all(others.map((i) => run(i, null))))];
    const forks = strategy === null ? [] : forksOf(group, strategy, roots);
    const more = range(roots.length, n).map((i) => run(i, forks[i - roots.length] ?? null));
    const runs = [...roots, ...(await Promise.all(more))];
    return { rollouts: runs.map(({ rollout }) => rollout), toolCalls: [] };
  };
}

interface Group {
  readonly gateway: SessionsOf;
  readonly question: Question;
  readonly groupSize: number;
  readonly options: RolloutOptions;
  readonly signal: AbortSignal;
  readonly see: (session: Session) => void;
  readonly branching: Branching | null;
}

/** A run of the agent. */
interface Ran {
  readonly rollout: Rollout;
  readonly calls: readonly CallNode[];
  readonly records: readonly ModelCallRecord[];
  readonly tools: readonly McpCallRecord[];
}

/** Where a run leaves another: at the first call it makes on its own. */
interface Fork {
  readonly from: Ran;
  readonly call: CallNode;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}

function forksOf(
  { question, groupSize, options }: Group,
  branching: Branching,
  roots: readonly Ran[],
): readonly Fork[] {
  const { id, phase, round } = question;
  const coin = draws(options.seed, id, phase, round, 'branch');
  const done = roots.filter(({ rollout }) => rollout.status === 'done');
  const places = forkPlaces(branching, done, (drawn) => coin.uniform(drawn));
  return places
    .slice(0, groupSize - roots.length)
    .map(({ root, call }) => ({ from: done[root]!, call: done[root]!.calls[call]! }));
}

async function runOnce(group: Group, index: number, fork: Fork | null): Promise<Ran> {
  const { gateway, question, groupSize, options, signal, see, branching } = group;
  const { sessions, agent, chat, clock, limits } = gateway;
  const id = rolloutId(question, index);
  const startedMs = clock.now();
  const records: ModelCallRecord[] = [];
  const shared = fork?.from.records.filter(({ call }) => call < fork.call.number) ?? [];
  const own = await gateway.past(id);
  const toolRecords: McpCallRecord[] = [];
  const sharedTools = fork?.from.tools.filter(({ after }) => after < fork.call.number) ?? [];
  const ownTools = (await gateway.mcp?.past(id)) ?? [];
  const session = new Session({
    ...{ id, questionId: question.id, chat, limits, clock, signal },
    engine: options.engine,
    sampling: samplingIn(options),
    draws: drawsOf(options.seed, question, index),
    past: [...shared, ...own],
    ...toolsFor(gateway, [...sharedTools, ...ownTools], toolRecords),
    ...(branching === null ? {} : { measured: branching }),
    commit: async (record) => {
      await gateway.commit(record);
      records.push(record);
    },
  });
  const trial = await begun(gateway.verifier, question, signal);
  const key = sessions.open(session);
  let end: AgentEnd;
  try {
    const baseUrl = `${gateway.address}/s/${key}`;
    const reward = (value: number, reason: string) => session.reward(value, reason);
    const rewarded = session.hasReward;
    const mcp = session.mcp === undefined ? {} : { mcp: session.mcp.servers };
    const task = { id, question, index, baseUrl, key, rewarded, reward, ...mcp };
    end = trial instanceof NoVerdict ? trial.end : await agent.run(task, signal);
  } finally {
    sessions.close(key);
    await session.end();
  }
  see(session);
  const { calls, stop, rewarded } = session;
  const counted = trial instanceof NoVerdict ? end : judged(end, session);
  const verdict = await verdictOn(trial, { id, question, index, calls, end: counted }, signal);
  const failed =
    verdict instanceof NoVerdict ? { ...counted, failure: verdict.end.failure } : counted;
  const reward = verdict === null || verdict instanceof NoVerdict ? rewarded : asReward(verdict);
  const rollout = rolloutOf({
    ...{ question, index, groupSize, calls, stop, reward, startedMs },
    seed: options.seed,
    end: stop === null ? judgeable(failed, question, reward) : failed,
    version: options.gate.version,
    markers: chat.tokenizer.markers ?? [],
    endedMs: clock.now(),
  });
  const parent = fork === null ? null : parentOf(rollout, fork);
  return {
    rollout: { ...rollout, parent },
    calls,
    records: [...own, ...records],
    tools: [...ownTools, ...toolRecords],
  };
}

/** The MCP servers of a session; `made` receives what it records. */
function toolsFor(
  { mcp, report }: SessionsOf,
  past: readonly McpCallRecord[],
  made: McpCallRecord[],
): Pick<SessionOptions, 'tools'> {
  if (mcp === undefined) return {};
  const commit = async (record: McpCallRecord): Promise<void> => {
    await mcp.commit(record);
    made.push(record);
  };
  return { tools: { servers: mcp.servers, past, commit, report } };
}

/** Why a session has no verdict, and so does not count. */
class NoVerdict {
  readonly end: AgentEnd;

  constructor(error: unknown) {
    this.end = { failure: messageOf(error), exitCode: null, output: '' };
  }
}

async function begun(
  verifier: Verifier | undefined,
  question: Question,
  signal: AbortSignal,
): Promise<Case | NoVerdict | null> {
  if (verifier === undefined) return null;
  return orNone(verifier.begin(question, signal), signal);
}

/** Null if the verifier is not asked: a failed run is not judged. */
async function verdictOn(
  trial: Case | NoVerdict | null,
  {
    end,
    ...of
  }: Omit<JudgedSession, 'answer' | 'exitCode' | 'output'> & { readonly end: AgentEnd },
  signal: AbortSignal,
): Promise<Verdict | NoVerdict | null> {
  if (trial === null || trial instanceof NoVerdict || end.failure !== '') return null;
  const { answer = null, exitCode, output } = end;
  return orNone(trial.judge({ ...of, answer, exitCode, output }, signal), signal);
}

async function orNone<T>(asked: Promise<T>, signal: AbortSignal): Promise<T | NoVerdict> {
  try {
    return await raceAbort(asked, signal);
  } catch (error) {
    signal.throwIfAborted();
    return new NoVerdict(error);
  }
}

function asReward({ reward: value, reason, parts }: Verdict): SessionOf['reward'] {
  return { value, reason, parts };
}

/** What a fork shares with the rollout it left: nothing if it did not repeat it. */
function parentOf({ tokens }: Rollout, { from, call }: Fork): Rollout['parent'] {
  const { index, session, tokens: theirs } = from.rollout;
  const offset = session?.calls.find((one) => one.call === call.number)?.start ?? 0;
  const same = offset > 0 && theirs.subarray(0, offset).every((token, i) => token === tokens[i]);
  return same ? { index, offset } : null;
}

export function drawsOf(seed: number, { id, phase, round }: Question, index: number): DrawKey[] {
  return [seed, id, phase, round, index];
}

/**
 * A run that hit a limit counts, however the agent handled the refusal. One that made no call, or whose
 * policy did not answer, does not.
 */
function judged(end: AgentEnd, { stop, calls, failure }: Session): AgentEnd {
  if (failure !== '') return { ...end, failure: `the policy could not be asked: ${failure}` };
  if (calls.length > 0) return stop === null ? end : { ...end, failure: '' };
  const why = end.failure === '' ? 'it ended' : end.failure;
  return {
    ...end,
    failure: `the agent made no model call (${why}): does it read OPENAI_BASE_URL or ANTHROPIC_BASE_URL?`,
  };
}

/** A run that nothing judged has no reward to learn from; that is not a reward of 0. */
function judgeable(end: AgentEnd, { answers }: Question, reward: SessionOf['reward']): AgentEnd {
  if (end.failure !== '' || reward !== null || answers.length > 0) return end;
  return { ...end, failure: 'the question has no answers, and the agent posted no reward' };
}
