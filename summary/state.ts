/** What a run is doing, in the one word that `top`, `doctor`, the page and its list of runs use. Pure. */
import type { RunFacts } from './facts/facts.ts';

/**
 * `live`: a process works on it. `paused`: one does, and begins nothing new. `waiting`: it has just started.
 * `silent`: its record says that it runs, but no process does: it was killed. `unknown`: this was not
 * checked. `damaged`: records of it cannot be read.
 */
export type RunState =
  | 'live'
  | 'paused'
  | 'waiting'
  | 'silent'
  | 'unknown'
  | 'done'
  | 'stopped'
  | 'failed'
  | 'damaged';

/** A run whose processes report nothing for this long is silent. */
export const SILENT_RUN_MS = 10_000;

export interface Seen {
  readonly workers: readonly { readonly ended: boolean; readonly silentMs: number }[];
  readonly atMs: number;
  /** Whether a process holds its log for writing; left out if that cannot be seen. */
  readonly writer?: boolean;
  /** Whether it is paused and begins nothing new. */
  readonly paused?: boolean;
  /** Whether records of it cannot be read. */
  readonly damaged?: boolean;
}

export function stateOf(
  { status, starts }: Pick<RunFacts, 'status' | 'starts'>,
  { workers, atMs, writer, paused = false, damaged = false }: Seen,
): RunState {
  const isLive =
    writer ?? workers.some(({ ended, silentMs }) => !ended && silentMs < SILENT_RUN_MS);
  if (isLive) return paused ? 'paused' : 'live';
  if (damaged) return 'damaged';
  if (status !== 'running') return status;
  if (writer === false) return 'silent';
  const startedMs = starts.at(-1)?.startedMs ?? 0;
  const reported = workers.some(({ silentMs }) => atMs - silentMs >= startedMs);
  return !reported && atMs - startedMs < SILENT_RUN_MS ? 'waiting' : 'silent';
}
