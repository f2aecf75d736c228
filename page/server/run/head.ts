/** What every page says first about its run: its state, since when, and how far it has got. Pure. */

import type { RunFacts } from '../../../summary/facts/index.ts';
import { duration } from '../../../summary/format/index.ts';
import { type Live, type RunState, stateOf } from '../../../summary/index.ts';
import type { RunHead } from '../../wire/index.ts';

export interface HeadParts {
  readonly viewed: {
    readonly name: string;
    readonly place: string;
    readonly resume: string;
    readonly typed: (text: string) => string;
  };
  readonly facts: RunFacts;
  readonly live: Pick<Live, 'workers' | 'atMs'> & { readonly paused?: boolean };
  /** Whether it has records that cannot be read. */
  readonly damaged?: boolean;
  /** The newest weights, or those at the moment that is shown. */
  readonly newest: { readonly step: number; readonly version: number } | null;
}

export function headOf({ viewed, facts, live, newest, damaged = false }: HeadParts): RunHead {
  const { name, place, resume, typed } = viewed;
  const last = facts.starts.at(-1)!;
  const heard = live.workers.map(({ silentMs }) => live.atMs - silentMs);
  const heardMs = heard.length === 0 ? null : Math.max(...heard);
  const state = stateOf(facts, { ...live, damaged });
  const since = heardMs ?? last.startedMs;
  return {
    name,
    job: facts.job.name,
    seed: facts.seed,
    status: facts.status,
    state,
    stateText: typed(stateText(state, { name, facts, silentMs: live.atMs - since, again: resume })),
    startedMs: facts.starts[0]!.startedMs,
    endedMs: last.endedMs,
    starts: facts.starts.length,
    step: newest?.step ?? null,
    version: newest?.version ?? null,
    heardMs,
    log: place,
  };
}

interface StateParts {
  readonly name: string;
  readonly facts: RunFacts;
  readonly silentMs: number;
  /** The command that resumes it. */
  readonly again: string;
}

function stateText(state: RunState, { name, facts, silentMs, again }: StateParts): string {
  switch (state) {
    case 'silent':
      return `no process has reported for ${duration(Math.max(0, silentMs) / 1000)}; resume it with \`${again}\``;
    case 'paused':
      return `it is paused and starts nothing new until \`millrace resume ${name}\``;
    case 'damaged':
      return `some of its records cannot be read; run \`millrace doctor ${name}\``;
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
