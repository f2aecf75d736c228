/** An agent's session as the page draws it: a tree of calls, in lanes. */
import { outsideText } from '../../../base/index.ts';
import type { Log } from '../../../streams/index.ts';
import {
  type McpCallRecord,
  type ModelCallRecord,
  mcpAnswer,
  mcpCallsIn,
  type Rollout,
  topics,
} from '../../../topics/index.ts';
import type { SessionCallView, SessionToolView, SessionView } from '../../wire/index.ts';
import type { Moment } from './moment.ts';
import { Search } from './records.ts';
import { refOf } from './refs.ts';
import { cutText } from './shown.ts';

const CALLS_MAX = 100;
const TOOLS_MAX = 200;
const TEXT_MAX = 2_000;
const NAME_MAX = 100;
const LANES_MAX = 6;
const DIFFERENCE_MAX = 300;

/** Null if no agent made the rollout. */
export async function sessionView(
  log: Log,
  moment: Moment,
  rollout: Rollout,
  searchMax: number,
): Promise<SessionView | null> {
  const { id, session } = rollout;
  if (session == null) return null;
  const search = new Search(log, moment, searchMax);
  const own = ({ sessionId }: ModelCallRecord): boolean => sessionId === id;
  const found = await search.find(topics.calls, { keys: [id] }, own);
  const { ms, modelMs } = session;
  const calls = callsIn(
    rollout,
    found.map(({ value }) => value),
  );
  const shown = calls.slice(0, CALLS_MAX);
  return {
    calls: shown,
    of: calls.length,
    tools: await toolsOf(rollout, shown, search),
    ms,
    modelMs,
  };
}

async function toolsOf(
  rollout: Rollout,
  calls: readonly SessionCallView[],
  search: Search,
): Promise<readonly SessionToolView[]> {
  const { id } = rollout;
  const own = ({ sessionId }: McpCallRecord): boolean => sessionId === id;
  const found = await search.find(topics.mcpCalls, { keys: [id] }, own);
  const places = new Map(found.map(({ value, position }) => [value, position]));
  const turns = new Map(calls.map(({ call, turn }) => [call, turn]));
  return mcpCallsIn(rollout, [...places.keys()])
    .filter(({ after }) => after === -1 || turns.has(after))
    .slice(0, TOOLS_MAX)
    .map((call) => {
      const { after, server, tool, input, ranFor, sessionId, startedMs, endedMs } = call;
      const { ok, text } = mcpAnswer(call);
      return {
        ...{ ref: refOf(places.get(call)!), after, turn: turns.get(after) ?? null, ok },
        ...{
          tool: outsideText(`${server}.${tool}`, NAME_MAX),
          fromRecord: ranFor !== sessionId,
          ms: endedMs - startedMs,
        },
        ...{ input: cutText(input, TEXT_MAX), output: cutText(text, TEXT_MAX) },
      };
    });
}

/** The first call that goes on from another stays in its lane. */
export function callsIn(
  { session, segments }: Pick<Rollout, 'session' | 'segments'>,
  records: readonly ModelCallRecord[],
): readonly SessionCallView[] {
  const starts = new Map(session?.calls.map(({ call, start }) => [call, start]));
  const lanes = new Map<number, number>();
  const continued = new Set<number>();
  let lanesUsed = 0;
  return records
    .filter(({ call }) => starts.has(call))
    .toSorted((a, b) => a.call - b.call)
    .map(({ call, parent, join, difference, tokens, startedMs, endedMs }) => {
      const known = continued.has(parent) ? undefined : lanes.get(parent);
      const lane = known ?? Math.min(lanesUsed++, LANES_MAX);
      continued.add(parent);
      lanes.set(call, lane);
      const turn = segments.findIndex(
        ({ kind, start }) => kind === 'policy' && start === starts.get(call),
      );
      return {
        ...{ call, parent, lane, join, difference: difference.slice(0, DIFFERENCE_MAX) },
        ...{ tokens: tokens.length, ms: endedMs - startedMs, turn: turn < 0 ? null : turn },
      };
    });
}
