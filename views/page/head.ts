/** What every page says of its run first: how it is, since when, and how far. Pure. */

import { duration } from '../numbers.ts';
import type { RunFacts } from '../summary/facts.ts';
import type { Live } from '../summary/live.ts';
import type { RunHead, RunState } from './wire.ts';

/** A run whose processes report nothing for so long is silent. */
export const SILENT_MS = 10_000;

export interface HeadParts {
  readonly viewed: { readonly name: string; readonly place: string; readonly resume: string };
  readonly facts: RunFacts;
  readonly live: Pick<Live, 'workers' | 'atMs'>;
  /** The newest weights, or those of the moment that is shown. */
  readonly newest: { readonly step: number; readonly version: number } | null;
}

export function headOf({ viewed, facts, live, newest }: HeadParts): RunHead {
  const { name, place, resume } = viewed;
  const last = facts.starts.at(-1)!;
  const heard = live.workers.map(({ silentMs }) => live.atMs - silentMs);
  const heardMs = heard.length === 0 ? null : Math.max(...heard);
  const state = stateOf(facts, live);
  const since = heardMs ?? last.startedMs;
  return {
    name,
    job: facts.job.name,
    seed: facts.seed,
    status: facts.status,
    state,
    stateText: stateText(state, { facts, silentMs: live.atMs - since, again: resume }),
    startedMs: facts.starts[0]!.startedMs,
    endedMs: last.endedMs,
    starts: facts.starts.length,
    step: newest?.step ?? null,
    version: newest?.version ?? null,
    heardMs,
    log: place,
  };
}

function stateOf({ status, starts }: RunFacts, { workers, atMs }: HeadParts['live']): RunState {
  const isLive = workers.some(({ ended, silentMs }) => !ended && silentMs < SILENT_MS);
  if (isLive) return 'live';
  if (status !== 'running') return status;
  const startedMs = starts.at(-1)!.startedMs;
  const reported = workers.some(({ silentMs }) => atMs - silentMs >= startedMs);
  return !reported && atMs - startedMs < SILENT_MS ? 'waiting' : 'silent';
}

interface StateParts {
  readonly facts: RunFacts;
  readonly silentMs: number;
  /** The command that resumes it. */
  readonly again: string;
}

function stateText(state: RunState, { facts, silentMs, again }: StateParts): string {
  switch (state) {
    case 'silent':
      return `no process has reported for ${duration(Math.max(0, silentMs) / 1000)}; resume it with \`${again}\``;
    case 'waiting':
      return 'it has started; its processes have not reported yet';
    case 'failed':
      return `${facts.reason === '' ? 'it failed' : facts.reason}; resume it with \`${again}\``;
    case 'stopped':
      return `it was stopped; resume it with \`${again}\``;
    default:
      return '';
  }
}
