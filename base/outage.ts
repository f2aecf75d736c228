/** A server that a run needs no longer answers, or answers again. */
export interface Outage {
  readonly state: 'away' | 'back';
  /** Its address; null = none of several servers answers. */
  readonly server: string | null;
  /** Why it counts as away: its last answer, or the lack of one; empty once it is back. */
  readonly reason: string;
  /** How long it has been away, milliseconds. */
  readonly forMs: number;
}

/** Prints a line for the user; an outage is reported to programs too. */
export type Report = (line: string, outage?: Outage) => void;
