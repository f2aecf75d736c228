/**
 * One group reading one topic, over the partitions that the group gave to this process.
 *
 * Each partition is read by itself: a page when fewer than `inflightMax` of it are unsettled, and nothing more until
 * that has been handed out. So one that stands still keeps none from going on. A record that does not decode becomes a dead
 * letter. What a reader handed out may settle as long as no newer reader of the group exists in this
 * process and no other process was given the partition.
 */
import type { Subscriber } from 'rxjs';
import { MillraceError } from '../../base/errors.ts';
import { isUnreadable, settleUnreadable } from '../deliveries/deadLetter.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import {
  type DeliveryOwner,
  deliver,
  type Root,
  WaitingRecords,
} from '../deliveries/settlement.ts';
import type { ReadOptions } from '../log.ts';
import type { Topic } from '../topic.ts';
import type { GroupFeed } from './groupFeed.ts';
import { type CurrentReader, Handout } from './handout.ts';
import type { Hold } from './hold.ts';
import type { PageOptions, Raw } from './pages.ts';

const PAGE = { waitMs: 500, sharedWaitMs: 50, bytesMax: 2 ** 20 };

export class GroupReader<T> implements CurrentReader {
  stale = false;
  readonly #feed: GroupFeed;
  readonly #topic: Topic<T>;
  readonly #options: ReadOptions;
  readonly #subscriber: Subscriber<Delivery<T>>;
  readonly #owner: DeliveryOwner;
  readonly #stopping = new AbortController();
  /** Pages are on their way. */
  #reading = false;
  /** The last one used. */
  #handout: Handout | null = null;
  #waking = (): void => undefined;

  constructor(
    feed: GroupFeed,
    topic: Topic<T>,
    options: ReadOptions,
    subscriber: Subscriber<Delivery<T>>,
  ) {
    this.#feed = feed;
    this.#topic = topic;
    this.#options = options;
    this.#subscriber = subscriber;
    this.#owner = {
      inflightMax: options.inflightMax,
      waiting: new WaitingRecords(),
      ready: (delivery) => {
        feed.parts.settle(delivery).catch((error: unknown) => this.fail(error));
      },
    };
  }

  get active(): boolean {
    return !this.#stopping.signal.aborted;
  }

  start(): () => void {
    this.#run().catch((error: unknown) => {
      if (this.active) this.fail(error);
    });
    return () => {
      this.#stopping.abort();
      this.#waking();
    };
  }

  fail(error: unknown): void {
    this.#subscriber.error(error);
  }

  wake(): void {
    this.#waking();
  }

  settled(hold: Hold): void {
    if (hold.lost) return;
    hold.inflight -= 1;
    this.wake();
  }

  revoked(): void {
    this.wake();
    if (this.active) this.#options.revoked?.();
  }

  /** What an older reader has already sent to be settled is awaited first. */
  async #run(): Promise<void> {
    await this.#feed.parts.committer.settled();
    if (!this.active) return;
    this.#feed.begin(this);
    while (this.active) {
      const more = this.#changed();
      this.#handOut();
      if (!this.active) return;
      this.#readOn();
      await more;
    }
  }

  #room(hold: Hold): boolean {
    return hold.inflight < this.#options.inflightMax;
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#waking = resolve;
    });
  }

  #handOut(): void {
    for (const hold of this.#feed.holds.values()) {
      while (this.active && this.#room(hold)) {
        const record = hold.waiting.shift();
        if (record === undefined) break;
        this.#hand(record, hold);
      }
    }
  }

  #hand(record: Raw, hold: Hold): void {
    const { partition, offset, key } = record;
    const reader = this.#handoutOf(hold);
    const { onWaiting } = reader;
    const topic = this.#topic.name;
    const position = { partition, offset };
    const root: Root = { topic, position, key, reader, onWaiting, fate: undefined };
    const read = this.#read(record);
    hold.progress.meet(offset);
    hold.inflight += 1;
    if (read instanceof MillraceError) settleUnreadable(root, record.value, read, this.#owner);
    else this.#subscriber.next(deliver(read.value, root, this.#owner));
  }

  #handoutOf(hold: Hold): Handout {
    if (this.#handout?.hold !== hold) this.#handout = new Handout(this, hold);
    return this.#handout;
  }

  /** Its value, or why it does not decode. */
  #read(record: Raw): { readonly value: T } | MillraceError {
    try {
      return { value: this.#feed.parts.schemas.decode(this.#topic, record) };
    } catch (error) {
      if (isUnreadable(error)) return error;
      throw error;
    }
  }

  /** Asks for a page of each partition that has nothing waiting and room for more; one request at a time. */
  #readOn(): void {
    if (this.#reading) return;
    const holds = [...this.#feed.holds.values()];
    const empty = holds.filter((hold) => hold.waiting.length === 0 && this.#room(hold));
    if (empty.length === 0) return;
    this.#reading = true;
    // The others may need a page before there is something in these.
    const waitMs = empty.length < holds.length ? PAGE.sharedWaitMs : PAGE.waitMs;
    this.#pages(empty, { ...PAGE, waitMs }).then(
      () => {
        this.#reading = false;
        this.wake();
      },
      (error: unknown) => {
        if (this.active) this.fail(error);
      },
    );
  }

  async #pages(empty: readonly Hold[], options: PageOptions): Promise<void> {
    const { parts, link } = this.#feed;
    const from = new Map(empty.map(({ partition, next }) => [partition, next]));
    const read = await parts.pages.pages(link, this.#topic.name, from, options);
    if (!this.active) return;
    await parts.schemas.prepare([...read.values()].flatMap(({ records }) => records));
    if (!this.active) return;
    for (const hold of empty) {
      const page = read.get(hold.partition)!;
      if (page.beyond === true && !hold.lost) throw emptied(this.#topic.name, hold);
      if (hold.lost || hold.next !== from.get(hold.partition)) continue;
      hold.next = page.next;
      hold.waiting.push(...page.records.filter(({ offset }) => !hold.progress.has(offset)));
    }
  }
}

/** What the group has settled or read is not there: somebody deleted the records, or the topic, which was then made again. */
function emptied(topic: string, { partition, next }: Hold): MillraceError {
  return new MillraceError(
    'TOPIC_GONE',
    `${topic} ends before ${partition}/${next}, up to which it was read: its records were deleted on the broker, or the topic was and ` +
      'was made again. To inspect what survives, run: millrace doctor RUN',
    { context: { topic, partition, offset: next } },
  );
}
