/**
 * Who may commit when: for a replay, which keeps the order of the run that it replays.
 *
 * A flow that is given `CommitOrder` passes it every finished family (the writes that belong in one commit)
 * and commits it when it is released. Families that wait here take no place of a stage's concurrency; there
 * are never more of them than the stages have records in flight.
 */
import type { SideRecord } from '../deliveries/delivery.ts';

export interface CommitOrder {
  /** A family of `stage` is finished. Calls `commit` once, now or later. */
  ready(stage: string, writes: readonly SideRecord[], commit: () => void): void;
  /** What was released is on disk. */
  committed(stage: string, writes: readonly SideRecord[]): void;
  /** Nothing moves except what waits here. True if something was released after all; false ends the flow. */
  moved(): Promise<boolean>;
}
