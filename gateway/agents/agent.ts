/** A way to run an agent: it gets a question and a place to ask the policy, and works as it always does. */
import type { Question } from '../../topics/index.ts';
import type { AgentEnd } from '../sessions/rolloutOf.ts';

export type { AgentEnd };

/** One run of an agent. */
export interface AgentTask {
  /** Id of the rollout. */
  readonly id: string;
  readonly question: Question;
  /** Number of the run in the question's group. */
  readonly index: number;
  /** Where the policy is asked, without `/v1`; the session is in it. */
  readonly baseUrl: string;
  /** The session's key: the API key of either protocol. */
  readonly key: string;
  /** Names of the MCP servers that are at `…/mcp/NAME`; left out = none. */
  readonly mcp?: readonly string[];
  /** Resolves when a reward is there. */
  readonly rewarded: Promise<void>;
  /** Posts the run's reward. */
  reward(value: number, reason: string): Promise<void>;
}

/** See above. */
export interface Agent {
  /**
   * Runs the agent to its end. Its failures are in the answer; rejects only when the signal aborts, once
   * every process of it is gone.
   */
  run(task: AgentTask, signal: AbortSignal): Promise<AgentEnd>;
  close(): Promise<void>;
}

/** The environment that points the SDKs of OpenAI and Anthropic at the gateway. */
export function agentVariables({
  baseUrl,
  key,
  id,
  question,
  index,
  mcp = [],
}: AgentTask): Readonly<Record<string, string>> {
  const urls = mcpUrls({ baseUrl, mcp });
  const named = Object.entries(urls).map(([name, url]) => [variableOf(name), url]);
  return {
    ...(mcp.length === 1 ? { MILLRACE_MCP_URL: urls[mcp[0]!]! } : {}),
    ...Object.fromEntries(named),
    OPENAI_BASE_URL: `${baseUrl}/v1`,
    OPENAI_API_BASE: `${baseUrl}/v1`,
    OPENAI_API_KEY: key,
    ANTHROPIC_BASE_URL: baseUrl,
    ANTHROPIC_API_KEY: key,
    MILLRACE_QUESTION: question.question,
    MILLRACE_QUESTION_ID: question.id,
    MILLRACE_ROLLOUT: id,
    MILLRACE_ROLLOUT_INDEX: String(index),
    MILLRACE_REWARD_URL: `${baseUrl}/v1/reward`,
  };
}

/** Where a session's MCP servers are, by their names. */
export function mcpUrls({
  baseUrl,
  mcp = [],
}: Pick<AgentTask, 'baseUrl' | 'mcp'>): Readonly<Record<string, string>> {
  return Object.fromEntries(mcp.map((name) => [name, `${baseUrl}/mcp/${name}`]));
}

/** `MILLRACE_MCP_MY_FILES_URL` of `my-files`. */
export function variableOf(name: string): string {
  return `MILLRACE_MCP_${name.toUpperCase().replaceAll('-', '_')}_URL`;
}
