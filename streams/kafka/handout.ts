/**
 * What the log knows of a record in flight by its root's `reader`: who handed it out, from which hold.
 */
import type { Hold } from './hold.ts';

/** A reader of a group as others see it; of the readers of one group in a process the newest is the current one. */
export interface CurrentReader {
  /** A newer one took its place: nothing that it handed out is settled any more. */
  stale: boolean;
  /** There is something to hand out, or room for it. */
  wake(): void;
  fail(error: unknown): void;
  /** One of its deliveries was committed. */
  settled(hold: Hold): void;
  /** Some of its deliveries belong to another process now. */
  revoked(): void;
}

/** What a root's `reader` is: one object for all records of a reader and a hold. */
export class Handout {
  readonly reader: CurrentReader;
  readonly hold: Hold;

  constructor(reader: CurrentReader, hold: Hold) {
    this.reader = reader;
    this.hold = hold;
  }

  readonly onWaiting = (waits: boolean): void => {
    if (!this.reader.stale) this.hold.waitingInGroups += waits ? 1 : -1;
  };
}
