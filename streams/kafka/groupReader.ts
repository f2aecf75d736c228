/**
 * One group reading one topic, over the partitions that the group gave to this process.
 *
 * Each partition is read by itself: a page when fewer than `inflightMax` of it are unsettled, and nothing
 * more until that has been handed out. So one that stands still does not stop the others. A record that does
 * not decode becomes a dead letter. What a reader handed out may settle as long as no newer reader of the
 * group exists in this process and no other process was given the partition.
 */
import type { Subscriber } from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import { isUnreadable, settleUnreadable } from '../deliveries/deadLetter.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import { type DeliveryOwner, type Root, WaitingRecords } from '../deliveries/family.ts';
import { deliver } from '../deliveries/settlement.ts';
import type { ReadOptions } from '../log.ts';
import type { Topic } from '../topic.ts';
import type { GroupFeed } from './groupFeed.ts';
import type { OwnedPartition } from './ownedPartition.ts';
import type { PageOptions, Raw } from './pages.ts';
import { type CurrentReader, PartitionReader } from './partitionReader.ts';

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
  /** The page that was used last. */
  #partitionReader: PartitionReader | null = null;
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

  settled(owned: OwnedPartition): void {
    if (owned.lost) return;
    owned.inflight -= 1;
    this.wake();
  }

  revoked(): void {
    this.wake();
    if (this.active) this.#options.revoked?.();
  }

  /** Waits for what an older reader has already sent to be settled. */
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

  #room(owned: OwnedPartition): boolean {
    return owned.inflight < this.#options.inflightMax;
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#waking = resolve;
    });
  }

  #handOut(): void {
    for (const owned of this.#feed.owned.values()) {
      while (this.active && this.#room(owned)) {
        const record = owned.waiting.shift();
        if (record === undefined) break;
        this.#hand(record, owned);
      }
    }
  }

  #hand(record: Raw, owned: OwnedPartition): void {
    const { partition, offset, key } = record;
    const reader = this.#partitionReaderOf(owned);
    const { onWaiting } = reader;
    const topic = this.#topic.name;
    const position = { partition, offset };
    const root: Root = { topic, position, key, reader, onWaiting, observer: undefined };
    const read = this.#read(record);
    owned.progress.meet(offset);
    owned.inflight += 1;
    if (read instanceof MillraceError) settleUnreadable(root, record.value, read, this.#owner);
    else this.#subscriber.next(deliver(read.value, root, this.#owner));
  }

  #partitionReaderOf(owned: OwnedPartition): PartitionReader {
    if (this.#partitionReader?.owned !== owned)
      this.#partitionReader = new PartitionReader(this, owned);
    return this.#partitionReader;
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
    const owned = [...this.#feed.owned.values()];
    const empty = owned.filter((one) => one.waiting.length === 0 && this.#room(one));
    if (empty.length === 0) return;
    this.#reading = true;
    // The others may need a page before these have records.
    const waitMs = empty.length < owned.length ? PAGE.sharedWaitMs : PAGE.waitMs;
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

  async #pages(empty: readonly OwnedPartition[], options: PageOptions): Promise<void> {
    const { parts, link } = this.#feed;
    const from = new Map(empty.map(({ partition, next }) => [partition, next]));
    const read = await parts.pages.pages(link, this.#topic.name, from, options);
    if (!this.active) return;
    await parts.schemas.prepare([...read.values()].flatMap(({ records }) => records));
    if (!this.active) return;
    for (const owned of empty) {
      const page = read.get(owned.partition)!;
      if (page.beyond === true && !owned.lost) throw emptied(this.#topic.name, owned);
      if (owned.lost || owned.next !== from.get(owned.partition)) continue;
      owned.next = page.next;
      owned.waiting.push(...page.records.filter(({ offset }) => !owned.progress.has(offset)));
    }
  }
}

/**
 * Records that the group has settled or read are missing: someone deleted them, or the topic, which was then
 * recreated.
 */
function emptied(topic: string, { partition, next }: OwnedPartition): MillraceError {
  return new MillraceError(
    'TOPIC_GONE',
    `${topic} ends before ${partition}/${next}, but the run has read up to there: its records were deleted on the broker, or the topic was ` +
      'deleted and recreated. To inspect what survives, run: millrace doctor RUN',
    { context: { topic, partition, offset: next } },
  );
}
