/** The events of `/stream`. */
import type { RunHead } from './common.ts';
import type { Mill } from './mill.ts';
import type { RunRow } from './runs.ts';

/**
 * `/stream`: server-sent events; `event:` is a key of this, `data:` its JSON. `id:` (the event's
 * `lastEventId`, written like `since=`) is the reader's place; a browser sends it again by itself after a
 * break, and the stream goes on from there. A comment line comes every 15 s. A slow reader gets the newest
 * state and not every change; one that takes nothing for 30 s is dropped.
 */
export interface StreamEvents {
  /** First, and after every break. */
  readonly hello: Hello;
  /** Once a second, only when something changed. */
  readonly mill: Mill;
  /** At most twice a second: new values of the requested metrics. */
  readonly points: Points;
  /** Once a second, only topics that grew. */
  readonly head: Heads;
  readonly state: StateChange;
  /** With `runs=1`, every 5 s when something changed: the rows that changed. */
  readonly runs: { readonly runs: readonly RunRow[]; readonly gone: readonly string[] };
  /** Too much was missed to send: read the data again. */
  readonly reset: { readonly run: string; readonly why: string };
}

export interface Hello {
  readonly wire: number;
  readonly nowMs: number;
  /** Changes with every start of the server. */
  readonly server: string;
  readonly runs: readonly RunHead[];
  /** Requested runs that do not exist. */
  readonly missing: readonly string[];
}

export interface Points {
  readonly run: string;
  /** Raw values, in log order: [step, atMs, tokens trained so far, value]; value null = NaN or infinite. */
  readonly series: Readonly<
    Record<string, readonly (readonly [number, number, number, number | null])[]>
  >;
  /** Ticks that were merged into this one because the reader was slow. */
  readonly merged: number;
}

export interface Heads {
  readonly run: string;
  /** Records by topic. */
  readonly ends: Readonly<Record<string, number>>;
}

export interface StateChange {
  readonly run: string;
  readonly atMs: number;
  readonly kind:
    | 'started'
    | 'paused'
    | 'silent'
    | 'resumed'
    | 'finished'
    | 'stopped'
    | 'failed'
    | 'weights'
    | 'deadLetter';
  /** For a live region. */
  readonly text: string;
  readonly head: RunHead;
}
