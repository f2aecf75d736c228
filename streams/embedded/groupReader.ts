/**
 * One group reading one topic: hands out records in order while fewer than `inflightMax` are unsettled.
 *
 * A record is read from disk when its turn comes, never ahead; one that does not decode becomes a dead
 * letter, and the next one's turn comes. What a reader handed out may settle as long as no newer reader of
 * the group exists; after that its deliveries are stale, because the newer one has handed the same records
 * out again.
 */
import { Observable, type Subscriber } from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import { isUnreadable, settleUnreadable } from '../deliveries/deadLetter.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import { type DeliveryOwner, type Root, WaitingRecords } from '../deliveries/family.ts';
import { deliver } from '../deliveries/settlement.ts';
import type { ReadOptions, Stored } from '../log.ts';
import type { Position } from '../position.ts';
import type { Topic } from '../topic.ts';
import type { Committer } from './committer.ts';

/** Synchronous reading of committed records. */
export interface Shelf {
  get<T>(topic: Topic<T>, offset: number): Stored<T>;
  /** Its Avro, whether it decodes or not. */
  body(topic: Topic<unknown>, offset: number): Buffer;
}

export interface ReaderParts<T> {
  readonly topic: Topic<T>;
  readonly options: ReadOptions;
  readonly shelf: Shelf;
  readonly committer: Committer;
  /** Commits what is dropped before a stage adopts it. */
  readonly settle: (delivery: Delivery<unknown>) => Promise<void>;
}

/** The reader of each group, newest first come. */
export class GroupReaders {
  readonly #newest = new Map<string, GroupReader<unknown>>();

  /** A cold observable; each subscription is a new reader. Fails with `GROUP_BUSY` while another reads. */
  read<T>(parts: ReaderParts<T>): Observable<Delivery<T>> {
    return new Observable((subscriber) => {
      const key = JSON.stringify([parts.topic.name, parts.options.group]);
      const before = this.#newest.get(key);
      if (before?.active) {
        subscriber.error(
          new MillraceError(
            'GROUP_BUSY',
            `group ${parts.options.group} already reads ${parts.topic.name}; give the second reader a group of its own`,
          ),
        );
        return;
      }
      const reader = new GroupReader(parts, subscriber);
      if (before !== undefined) before.stale = true;
      this.#newest.set(key, reader as GroupReader<unknown>);
      return reader.start();
    });
  }
}

export class GroupReader<T> {
  readonly topic: string;
  readonly group: string;
  active = true;
  stale = false;
  readonly #parts: ReaderParts<T>;
  readonly #subscriber: Subscriber<Delivery<T>>;
  readonly #owner: DeliveryOwner;
  /** Records below it were handed out, or are settled. */
  #next = 0;
  #inflight = 0;
  #pumping = false;

  constructor(parts: ReaderParts<T>, subscriber: Subscriber<Delivery<T>>) {
    this.topic = parts.topic.name;
    this.group = parts.options.group;
    this.#parts = parts;
    this.#subscriber = subscriber;
    this.#owner = {
      inflightMax: parts.options.inflightMax,
      waiting: new WaitingRecords(),
      ready: (delivery) => {
        parts.settle(delivery).catch((error: unknown) => subscriber.error(error));
      },
    };
  }

  /** Waits for what an older reader has already sent to be settled. */
  start(): () => void {
    const { committer } = this.#parts;
    const fail = (error: unknown): void => this.#subscriber.error(error);
    let unlisten = (): void => undefined;
    const begin = (): void => {
      if (!this.active) return;
      this.#next = committer.progress(this.topic, this.group).low;
      unlisten = committer.onCommit(() => this.#pump());
      this.#pump();
    };
    if (committer.busy) void committer.settled().then(begin);
    else begin();
    committer.join(this.topic, this.group).catch(fail);
    return () => {
      this.active = false;
      unlisten();
    };
  }

  /** A commit settled one of its deliveries. */
  settled(): void {
    this.#inflight -= 1;
  }

  #pump(): void {
    if (this.#pumping || !this.active) return;
    this.#pumping = true;
    try {
      this.#handOut();
    } catch (error) {
      this.#subscriber.error(error);
    } finally {
      this.#pumping = false;
    }
  }

  #handOut(): void {
    const { options, committer } = this.#parts;
    while (!this.#subscriber.closed && this.#inflight < options.inflightMax) {
      const progress = committer.progress(this.topic, this.group);
      while (this.#next < committer.end(this.topic) && progress.has(this.#next)) this.#next += 1;
      if (this.#next >= committer.end(this.topic)) return;
      this.#hand(this.#next);
    }
  }

  #hand(offset: number): void {
    const { topic, shelf } = this.#parts;
    const position = { partition: 0, offset };
    const stored = this.#stored(offset);
    this.#next = offset + 1;
    this.#inflight += 1;
    if (stored instanceof MillraceError) {
      settleUnreadable(this.#root(position, ''), shelf.body(topic, offset), stored, this.#owner);
      return;
    }
    const { value, key } = stored;
    this.#subscriber.next(deliver(value, this.#root(position, key), this.#owner));
  }

  #root(position: Position, key: string): Root {
    return { topic: this.topic, position, key, reader: this, observer: undefined };
  }

  /** Why it does not decode; undefined if it does. */
  #stored(offset: number): Stored<T> | MillraceError {
    const { topic, shelf } = this.#parts;
    try {
      return shelf.get(topic, offset);
    } catch (error) {
      if (isUnreadable(error)) return error;
      throw error;
    }
  }
}
