/** `mcp-calls`: calls of tools that agents behind the gateway reach through it, as they went. */
import { real, record, text, type ValueOf, whole } from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';
import type { Rollout } from './rollouts.ts';

export const mcpCall = record('McpCall', {
  /** Id of the session: that of its rollout. */
  sessionId: text,
  questionId: text,
  /** Number of the call in its session, from 0; a session repeated after a crash counts on. */
  number: whole,
  /** The last model call that the session had been answered; -1 = none. */
  after: whole,
  /** The session whose call ran: another one if this is a fork of it. */
  ranFor: text,
  /** The server's name in the settings. */
  server: text,
  tool: text,
  /** Its arguments as JSON, keys sorted. */
  input: text,
  /** The server's answer as JSON: a field `result`, or `error`. */
  output: text,
  startedMs: real,
  endedMs: real,
});
/** A call of a tool that an agent reached through the gateway. */
export interface McpCallRecord extends ValueOf<typeof mcpCall> {}

/** The server's answer: its text, and whether the call failed. Content that is not text is JSON. */
export function mcpAnswer({ output }: Pick<McpCallRecord, 'output'>): {
  readonly ok: boolean;
  readonly text: string;
} {
  const { result, error } = JSON.parse(output) as Outcome;
  if (result === undefined) return { ok: false, text: error?.message ?? '' };
  const { content = [], structuredContent, isError } = result;
  const parts = content.map((part) => part.text ?? JSON.stringify(part));
  const text =
    parts.length === 0 && structuredContent ? JSON.stringify(structuredContent) : parts.join('\n');
  return { ok: isError !== true, text };
}

interface Outcome {
  readonly result?: {
    readonly content?: readonly { readonly text?: string }[];
    readonly structuredContent?: unknown;
    readonly isError?: boolean;
  };
  readonly error?: { readonly message: string };
}

/** The calls of a session that belong to its rollout: after one of its model calls, or before all of them. */
export function mcpCallsIn(
  { session }: Pick<Rollout, 'session'>,
  calls: readonly McpCallRecord[],
): McpCallRecord[] {
  const there = new Set([-1, ...(session?.calls ?? []).map(({ call }) => call)]);
  return calls.filter(({ after }) => there.has(after)).toSorted((a, b) => a.number - b.number);
}

export const agentMcpCalls = defineRunTopic<McpCallRecord>({
  name: 'mcp-calls',
  about:
    'Calls of MCP tools that agents reach through the gateway, each committed before the agent gets the result. The gateway writes it; resume and forks read it.',
  shape: mcpCall,
  key: ({ sessionId }) => sessionId,
  subjects: ({ questionId }) => [questionId],
  large: true,
  identity: ({ sessionId, number }) => `${sessionId}#${number}`,
  // A call says nothing about it; its effects show in the rollout.
  moment: () => Number.POSITIVE_INFINITY,
  given: true,
  keyName: 'rollout id',
  line: ({ sessionId, number, server, tool, input, startedMs, endedMs }) =>
    `call ${number} of ${sessionId}: ${server}.${tool} ${input}, ${Math.round(endedMs - startedMs)} ms`,
  links: ({ sessionId, questionId }) => [
    { label: 'trajectory', path: `t/${encodeURIComponent(sessionId)}` },
    questionLink(questionId),
  ],
});
