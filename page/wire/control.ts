/** What the page may do to a run: `/control.json` and its POSTs. */

/** Whether this server takes POSTs, and the last recomputation it started. */
export interface ControlData {
  readonly wire: number;
  readonly nowMs: number;
  readonly control: boolean;
  /** Null before the first. */
  readonly job: ControlJob | null;
}

export interface ControlJob {
  readonly run: string;
  readonly kind: 'verify' | 'replay';
  /** As it can be typed. */
  readonly command: string;
  /** The run that a replay makes; null for a verification. */
  readonly into: string | null;
  /** `failed` for a verification: records differ, or it could not be done; the output says which. */
  readonly state: 'running' | 'done' | 'failed';
  /** The end of its output, and how many characters came before. */
  readonly output: string;
  readonly cut: number;
}

export interface ControlSaid {
  readonly said: string;
}

/** What a replay's `from` may be: the first topic that is recomputed. */
export const replayFrom = ['rollouts', 'scored', 'selected', 'batches', 'weights'] as const;
