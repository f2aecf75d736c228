/** The log's records of agents' sessions: their model calls and their calls of MCP tools. */
import type { Log, Position } from '../../streams/index.ts';
import {
  type McpCallRecord,
  type ModelCallRecord,
  type Rollout,
  topics,
} from '../../topics/index.ts';
import { positions } from './positions.ts';

/** Of one session, in any order. */
export interface SessionRecords {
  readonly calls: readonly ModelCallRecord[];
  readonly mcpCalls: readonly McpCallRecord[];
}

/** Only positions are held; the records of a rollout's session are read on request. */
export async function sessionRecords(
  log: Log,
): Promise<(rollout: Rollout) => Promise<SessionRecords>> {
  const calls = await positions(log, topics.calls, ({ sessionId }) => sessionId);
  const mcpCalls = await positions(log, topics.mcpCalls, ({ sessionId }) => sessionId);
  return async ({ id, session }) => {
    const own = (places: ReadonlyMap<string, readonly Position[]>): readonly Position[] =>
      session ? (places.get(id) ?? []) : [];
    return {
      calls: (await log.fetch(topics.calls, own(calls))).map(({ value }) => value),
      mcpCalls: (await log.fetch(topics.mcpCalls, own(mcpCalls))).map(({ value }) => value),
    };
  };
}
