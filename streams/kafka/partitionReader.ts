/**
 * What a root's `reader` tells the log about a record in flight: who handed it out, and from which partition.
 */
import type { OwnedPartition } from './ownedPartition.ts';

/** A group reader's interface; of the readers of one group in a process the newest is the current one. */
export interface CurrentReader {
  /** A newer reader has taken its place: nothing that it handed out can be settled any more. */
  stale: boolean;
  /** There is something to hand out, or room for it. */
  wake(): void;
  fail(error: unknown): void;
  /** One of its deliveries was committed. */
  settled(owned: OwnedPartition): void;
  /** Some of its deliveries now belong to another process. */
  revoked(): void;
}

/** The value of a root's `reader`: one object for all records of a reader and a partition. */
export class PartitionReader {
  readonly reader: CurrentReader;
  readonly owned: OwnedPartition;

  constructor(reader: CurrentReader, owned: OwnedPartition) {
    this.reader = reader;
    this.owned = owned;
  }

  readonly onWaiting = (waits: boolean): void => {
    if (!this.reader.stale) this.owned.waitingInGroups += waits ? 1 : -1;
  };
}
