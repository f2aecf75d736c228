/** `mcp-calls`: calls of tools that agents behind the gateway reach through it, as they went. */
import { real, record, text, type ValueOf, whole } from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';
import { questionLink } from './links.ts';

export const mcpCall = record('McpCall', {
  /** Id of the session: that of its rollout. */
  sessionId: text,
  questionId: text,
  /** Number of the call in its session, from 0; a session that was run again after a crash counts on. */
  number: whole,
  /** The model call that the session had been answered last; -1 = none. */
  after: whole,
  /** The session whose call ran: another one if this is a fork of it. */
  ranFor: text,
  /** As the settings call it. */
  server: text,
  tool: text,
  /** Its arguments as JSON, keys sorted. */
  input: text,
  /** What the server answered, as JSON: a field `result`, or `error`. */
  output: text,
  startedMs: real,
  endedMs: real,
});
/** A call of a tool that an agent reached through the gateway. */
export interface McpCallRecord extends ValueOf<typeof mcpCall> {}

export const agentMcpCalls = defineRunTopic<McpCallRecord>({
  name: 'mcp-calls',
  about:
    'Calls of MCP tools that agents reach through the gateway, each committed before the agent gets the result. The gateway writes it; resume and forks read it.',
  shape: mcpCall,
  key: ({ sessionId }) => sessionId,
  subjects: ({ questionId }) => [questionId],
  large: true,
  identity: ({ sessionId, number }) => `${sessionId}#${number}`,
  // A call does not say; what follows from it shows in its rollout.
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
