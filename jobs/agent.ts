/**
 * `agents`: rollouts that a foreign agent makes. It is run once for each rollout, asks the policy through the
 * gateway in the protocol that it speaks, and its model calls become the rollout: the rest of the loop is
 * unchanged.
 *
 *     questions ─► an agent's run (a session of model calls) ─► score ─► batch ─► trainer ─► weights
 */
import { lastValueFrom, toArray } from 'rxjs';
import { z } from 'zod';
import { MillraceError, messageOf, sleepClock } from '../base/index.ts';
import {
  type Agent,
  type AgentMcp,
  commandAgent,
  gatewayServer,
  growSessions,
  httpAgent,
  httpVerifier,
  policyChat,
  replaySessions,
  Sessions,
  type Verifier,
  verifierForms,
} from '../gateway/index.ts';
import { loadChatTokenizer } from '../model/hf/index.ts';
import { type Log, recordsOf, type Topic } from '../streams/index.ts';
import {
  type McpCallRecord,
  type ModelCallRecord,
  type Position,
  topics,
} from '../topics/index.ts';
import type { JobContext } from './defineJob.ts';
import { findPolicy, type PolicyPlace } from './parts/policyPlace.ts';
import type { LoopOptions } from './policyLoop.ts';
import { positiveInt } from './policySettings.ts';
import { agentMcpSettings, mcpServers } from './tools/mcpTools.ts';

/** How agents are run. */
export const agentSettings = z.object({
  command: z
    .string()
    .default('')
    .describe(
      'shell command to run for each rollout: it gets the question in MILLRACE_QUESTION and on standard input, and calls the policy at OPENAI_BASE_URL or ANTHROPIC_BASE_URL',
    ),
  url: z
    .union([z.literal(''), z.url({ protocol: /^https?$/ })])
    .default('')
    .describe('URL to send each question to, instead of running a command (docs/agents.md)'),
  timeoutMs: positiveInt
    .default(600_000)
    .describe('time limit per run of the agent; with serve: how long a session may be idle'),
  atOnce: positiveInt.default(16).describe('maximum concurrent runs of the agent'),
  calls: positiveInt.default(50).describe('maximum model calls per run'),
  answerTokens: positiveInt.default(1024).describe('maximum tokens per model call'),
  rewardUrl: z
    .union([z.literal(''), z.url({ protocol: /^https?$/ })])
    .default('')
    .describe('URL of a verifier that gives each session its reward (docs/agents.md)'),
  rewardForm: z
    .enum(verifierForms)
    .default('plain')
    .describe('protocol of the verifier; nemo-gym = that of a NeMo-Gym resources server'),
  rewardTimeoutMs: positiveInt.default(120_000).describe('time limit per request to the verifier'),
  serve: z
    .boolean()
    .default(false)
    .describe(
      'train on sessions that clients open with the key in MILLRACE_GATEWAY_KEY, instead of on questions',
    ),
  rewardMs: z
    .number()
    .int()
    .nonnegative()
    .default(86_400_000)
    .describe(
      'with serve: how long to wait for a reward after a session ends; a session without one is not trained on; 0 = do not wait',
    ),
  delayMs: z
    .number()
    .int()
    .nonnegative()
    .default(60_000)
    .describe('with serve: how long a reward may take to arrive'),
  sessions: positiveInt
    .default(2048)
    .describe('with serve: maximum sessions that are open or waiting for a reward'),
  fork: z
    .boolean()
    .default(true)
    .describe('whether runs of the agent may be forked; a fork runs the agent’s own tools again'),
  mcp: agentMcpSettings,
  host: z
    .string()
    .default('127.0.0.1')
    .describe(
      'address the gateway listens on; agents on other machines need one that they can reach',
    ),
  port: z
    .number()
    .int()
    .min(0)
    .max(65535)
    .default(0)
    .describe('port the gateway listens on; 0 = any free port'),
});

/** `agentSettings` with all defaults filled in. */
export type AgentSettings = z.infer<typeof agentSettings>;

/** Fails with `USAGE` if there are neither questions nor sessions that others open. */
export function checkAgentQuestions({
  agent,
  questions,
}: {
  readonly agent: AgentSettings;
  readonly questions: string;
}): void {
  if (agent.serve || questions !== '') return;
  throw new MillraceError(
    'USAGE',
    'questions is required: a file of questions, unless agent.serve is set',
  );
}

/** What the job's context must provide. */
export type AgentContext = JobContext<{
  readonly policy: string;
  readonly agent: AgentSettings;
  readonly branching?: string;
}>;

/**
 * How a group is grown by agents: `everyQuestion(settings, await agents(context))`. `own` = the agent, in
 * place of what the settings name. Rejects with `USAGE` if none is named, `CHAT_TEMPLATE` if the policy has
 * no chat template.
 */
export async function agents(
  context: AgentContext,
  own?: Agent,
): Promise<Pick<LoopOptions, 'grow'>> {
  return agentsOf(context, await findPolicy(context.settings.policy), own);
}

/** The same for a policy whose chat template is in `folder`. */
export async function agentsOf(
  context: AgentContext,
  policy: Pick<PolicyPlace, 'folder' | 'name'>,
  own?: Agent,
): Promise<Pick<LoopOptions, 'grow'>> {
  const { settings, replay, log, clock, run, print } = context;
  const chat = policyChat(await loadChatTokenizer(policy.folder), policy.folder);
  if (replay?.sessions !== undefined) {
    return { grow: replaySessions(replay.sessions, chat) };
  }
  const { host, port, atOnce, calls, answerTokens, fork } = settings.agent;
  if (!fork && (context.forked !== undefined || (settings.branching ?? 'none') !== 'none')) {
    throw new MillraceError(
      'USAGE',
      'agent.fork=false: this job does not fork runs of its agent, because the agent’s tools would run again',
    );
  }
  const agent = context.own(own ?? agentOf(context));
  const sessions = new Sessions(policy.name || run);
  const failed = (error: unknown): void => print(`gateway: ${messageOf(error)}`);
  const waits = sleepClock(clock);
  const server = context.own(await listening({ sessions, clock: waits, host, port, failed }));
  const { forked } = context;
  const past =
    forked === undefined ? await unfinishedSessions(log, topics.calls) : async () => forked.calls;

  const verifier = verifierFor(context);
  const grow = growSessions({
    ...(verifier === null ? {} : { verifier }),
    ...(await mcpOf(context)),
    ...{ agent, sessions, chat, clock, past, atOnce, report: print },
    address: server.url,
    limits: { calls, answerTokens },
    commit: (record) => log.commit((tx) => tx.append(topics.calls, record)).then(() => undefined),
  });
  return { grow };
}

/** The MCP servers in the settings, and what is recorded of them. */
async function mcpOf(context: AgentContext): Promise<{ readonly mcp?: AgentMcp }> {
  const { settings, log, forked } = context;
  const servers = mcpServers(settings.agent.mcp, context);
  if (servers.size === 0) return {};
  const past =
    forked === undefined
      ? await unfinishedSessions(log, topics.mcpCalls)
      : async () => forked.tools;
  const commit = (record: McpCallRecord): Promise<void> =>
    log.commit((tx) => tx.append(topics.mcpCalls, record)).then(() => undefined);
  return { mcp: { servers, past, commit } };
}

/** The verifier in the settings; null = none. */
export function verifierFor({ settings, clock, own }: AgentContext): Verifier | null {
  const { rewardUrl: url, rewardForm: form, rewardTimeoutMs: timeoutMs } = settings.agent;
  if (url === '') return null;
  return own(httpVerifier({ url, form, timeoutMs, clock: sleepClock(clock) }));
}

/** The gateway's server. Rejects with `USAGE` if it cannot listen there. */
export async function listening(
  options: Parameters<typeof gatewayServer>[0],
): ReturnType<typeof gatewayServer> {
  try {
    return await gatewayServer(options);
  } catch (cause) {
    const { host, port } = options;
    throw new MillraceError(
      'USAGE',
      `the gateway cannot listen on ${host}:${port} (agent.host, agent.port): ${messageOf(cause)}`,
      { cause },
    );
  }
}

function agentOf({ settings, clock }: AgentContext): Agent {
  const { command, url, timeoutMs } = settings.agent;
  if ((command === '') === (url === '')) {
    throw new MillraceError(
      'USAGE',
      command === ''
        ? 'no agent: set agent.command to the program that runs it, or agent.url to its address'
        : 'set agent.command or agent.url, not both',
    );
  }
  const waits = { timeoutMs, clock: sleepClock(clock) };
  return url === '' ? commandAgent({ command, ...waits }) : httpAgent({ url, ...waits });
}

/** The calls of a session. */
export async function recordedCalls(log: Log, id: string): Promise<readonly ModelCallRecord[]> {
  return recordedOf(log, topics.calls, id);
}

async function recordedOf<T>(log: Log, topic: Topic<T>, id: string): Promise<readonly T[]> {
  const only = { keys: [id] };
  const found$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false, only });
  return (await lastValueFrom(found$.pipe(toArray()))).map(({ value }) => value);
}

/**
 * The calls of sessions that were not yet rollouts when the run was stopped. A log with an index is asked for
 * each session; another is read through once.
 */
async function unfinishedSessions<T extends { readonly sessionId: string }>(
  log: Log,
  topic: Topic<T>,
): Promise<(id: string) => Promise<readonly T[]>> {
  if (log.standing !== undefined) return (id) => recordedOf(log, topic, id);
  const places = new Map<string, Position[]>();
  const from = { kind: 'earliest' } as const;
  for await (const { value, position } of recordsOf(log, topic, { from })) {
    const known = places.get(value.sessionId);
    if (known === undefined) places.set(value.sessionId, [position]);
    else known.push(position);
  }
  if (places.size > 0) {
    for await (const { value } of recordsOf(log, topics.rollouts, { from }))
      places.delete(value.id);
  }
  return async (id) => {
    const found = places.get(id);
    if (found === undefined) return [];
    places.delete(id);
    return (await log.fetch(topic, found)).map(({ value }) => value);
  };
}
