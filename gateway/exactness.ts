/**
 * Says once what makes sessions worse than they could be: agents that rewrite earlier messages, so that their
 * calls are trained on separately, and agents that ask the same twice and get the same answer.
 */
import type { Session } from './sessions/session.ts';

/** Calls before anything is said. */
const CALLS_MIN = 20;
/** Shares of calls above which it is said. */
const SEPARATE_MAX = 0.1;
const REPEATED_MAX = 0.1;

/** Sees sessions that have ended; `report` gets a line of each kind at most. */
export function watchExactness(report: (line: string) => void): (session: Session) => void {
  let calls = 0;
  let separate = 0;
  let repeated = 0;
  let difference = '';
  const said = new Set<string>();
  const say = (kind: string, line: string): void => {
    if (said.has(kind)) return;
    said.add(kind);
    report(line);
  };
  return (session) => {
    const apart = session.calls.filter((call) => call.difference !== '');
    calls += session.calls.length;
    separate += apart.length;
    repeated += session.repeated;
    difference = apart[0]?.difference ?? difference;
    if (calls < CALLS_MIN) return;
    if (separate > SEPARATE_MAX * calls) {
      say(
        'separate',
        `the agent rewrites earlier messages, so ${percent(separate, calls)} of its model calls are trained on separately, not as one conversation: ${difference} (docs/agents.md)`,
      );
    }
    if (repeated > REPEATED_MAX * calls) {
      say(
        'repeated',
        `${repeated} model calls of agents repeated an earlier request and got its answer again; an agent that wants several samples must make its requests differ, for example in the field user`,
      );
    }
  };
}

function percent(part: number, all: number): string {
  return `${Math.round((100 * part) / all)} %`;
}
