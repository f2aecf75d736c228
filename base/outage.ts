/** A server that a run needs and that does not answer, or answers again. */
export interface Outage {
  readonly state: 'away' | 'back';
  /** Its address; null = none of several answers. */
  readonly server: string | null;
  /** Why it counts as away: its last answer, or that there was none; empty once it is back. */
  readonly reason: string;
  /** How long it has been away, milliseconds. */
  readonly forMs: number;
}

/** Says a line to the user; one about an outage is said to programs too. */
export type Report = (line: string, outage?: Outage) => void;
