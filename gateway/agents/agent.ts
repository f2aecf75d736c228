/**
 * A way to run an agent: it gets a question and a place to ask the policy, and otherwise works as it always
 * does.
 */
import type { Question } from '../../topics/index.ts';
import type { AgentEnd } from '../sessions/rolloutOf.ts';

export type { AgentEnd };

/** One run of an agent. */
export interface AgentTask {
  /** Id of the rollout. */
  readonly id: string;
  readonly question: Question;
  /** The run's number in the question's group. */
  readonly index: number;
  /** Where the policy is asked, without `/v1`; the address identifies the session. */
  readonly baseUrl: string;
  /** The session's key, used as the API key of either protocol. */
  readonly key: string;
  /** Names of the MCP servers available at `…/mcp/NAME`; left out = none. */
  readonly mcp?: readonly string[];
  /** Resolves once a reward has been posted. */
  readonly rewarded: Promise<void>;
  /** Posts the run's reward. */
  reward(value: number, reason: string): Promise<void>;
}

/** See above. */
export interface Agent {
  /**
   * Runs the agent to its end. A failure of the agent is part of the answer; rejects only when the signal
   * aborts, and only once all its processes are gone.
   */
  run(task: AgentTask, signal: AbortSignal): Promise<AgentEnd>;
  close(): Promise<void>;
}

/** The environment variables that point the OpenAI and Anthropic SDKs at the gateway. */
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

/** The addresses of a session's MCP servers, by name. */
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
