/**
 * One group reading one topic, over the partitions that the group gave to this process.
 *
 * Each partition is read by itself: a page when fewer than `inflightMax` of it are unsettled, and nothing more until
 * that has been handed out. So one that stands still keeps none from going on. A record that does not decode becomes a dead
 * letter. What a reader handed out may settle as long as no newer reader of the group exists in this
 * process and no other process was given the partition.
 */
import { Observable, type Subscriber } from 'rxjs';
import { bury, isUnreadable } from '../deadLetter.ts';
import type { Delivery } from '../delivery.ts';
import { MillraceError } from '../errors.ts';
import type { ReadOptions } from '../log.ts';
import { type Desk, deliver, Parked } from '../settlement.ts';
import type { Topic } from '../topic.ts';
import { type Committer, metadataOf } from './committer.ts';
import type { Hold } from './hold.ts';
import { fetchOffsets } from './kafkajs.ts';
import type { KafkaTopics } from './kafkaTopics.ts';
import { type Link, pause } from './link.ts';
import { Membership } from './membership.ts';
import { type PageOptions, pages, type Raw } from './pages.ts';
import { decodeProgress, PartitionProgress } from './partitionProgress.ts';
import type { Schemas } from './registry.ts';
import type { StateTopic } from './stateTopic.ts';

export interface FeedParts {
  readonly run: string;
  readonly worker: string;
  readonly link: Link;
  readonly topics: KafkaTopics;
  readonly schemas: Schemas;
  readonly state: StateTopic;
  readonly committer: Committer;
  readonly sessionMs: number;
  readonly heartbeatMs: number;
  /** A partition that moves to another process waits this long for what is under way there. */
  readonly drainMs: number;
  /** Commits what is dropped before a stage adopts it. */
  readonly settle: (owed: Delivery<unknown>) => Promise<void>;
}

const PAGE = { waitMs: 500, sharedWaitMs: 50, bytesMax: 2 ** 20 };

export const groupIdOf = (run: string, group: string, topic: string): string =>
  `${run}.${group}.${topic}`;

/** What a root's `reader` is: who handed it out, from which hold. One for all records of both. */
export class Handout {
  readonly reader: GroupReader<unknown>;
  readonly hold: Hold;

  constructor(reader: GroupReader<unknown>, hold: Hold) {
    this.reader = reader;
    this.hold = hold;
  }

  readonly parked = (waits: boolean): void => {
    if (!this.reader.stale) this.hold.parked += waits ? 1 : -1;
  };
}

/** The partitions that this process has of one topic for one group; outlives its readers. */
export class GroupFeed {
  readonly topic: string;
  readonly group: string;
  readonly holds = new Map<number, Hold>();
  readonly #parts: FeedParts;
  readonly #link: Link;
  #membership: Membership | null = null;
  #partitions = 1;
  #newest: GroupReader<unknown> | null = null;
  #failure: unknown = null;
  #ready: Promise<void> | null = null;

  constructor(topic: string, group: string, parts: FeedParts) {
    this.topic = topic;
    this.group = group;
    this.#parts = parts;
    this.#link = parts.link.another();
  }

  get parts(): FeedParts {
    return this.#parts;
  }

  get link(): Link {
    return this.#link;
  }

  get newest(): GroupReader<unknown> | null {
    return this.#newest;
  }

  /** Records settled; null while another process may hold a part of them. */
  get settled(): number | null {
    if (this.#membership?.holdsAll !== true) return null;
    const holds = [...this.holds.values()];
    if (holds.length < this.#partitions) return null; // not yet looked up
    return holds.reduce((sum, { progress }) => sum + progress.settled, 0);
  }

  begin(reader: GroupReader<unknown>): void {
    if (this.#newest !== null) this.#newest.stale = true;
    this.#newest = reader;
    for (const hold of this.holds.values()) rewind(hold);
    if (this.#failure !== null) reader.fail(this.#failure);
    this.#ready ??= this.#join().catch((error: unknown) => this.#fail(error));
  }

  async close(): Promise<void> {
    await this.#ready;
    await this.#membership?.end();
    await this.#link.close();
  }

  async #join(): Promise<void> {
    const { topics, run, worker, sessionMs, heartbeatMs, committer } = this.#parts;
    const partitions = await topics.ensure(this.topic);
    this.#partitions = partitions;
    const options = {
      ...{ groupId: groupIdOf(run, this.group, this.topic), topic: topics.nameOf(this.topic) },
      ...{ partitions, worker, sessionMs, heartbeatMs },
    };
    this.#membership = new Membership(this.#link, options, {
      gained: (gained) => this.#gain(gained),
      released: (released) => this.#letGo(released),
      lost: (lost) => this.#lose(lost),
      failed: (error) => this.#fail(error),
    });
    await committer.join(this.topic, this.group);
    this.#membership.start();
  }

  async #gain(partitions: readonly number[]): Promise<void> {
    const membership = this.#membership!;
    const { state } = this.#parts;
    const committed = await this.#link.ask(
      { kind: 'coordinator', of: 'group', id: membership.groupId },
      (broker) => fetchOffsets(broker, membership.groupId, membership.topic, partitions),
    );
    for (const { partition, offset, metadata } of committed) {
      const place = { topic: this.topic, group: this.group, partition };
      const begin = Math.max(0, offset);
      const text = await metadataOf(state, place, metadata);
      const progress = new PartitionProgress(decodeProgress(begin, text));
      this.holds.set(partition, {
        ...{ membership, ...place, progress, lost: false, waiting: [] },
        ...{ next: progress.low, inflight: 0, parked: 0 },
      });
    }
    this.#newest?.wake();
  }

  /** Hands out no more of them, and waits for what is under way. Open groups are gathered anew by who gets them. */
  async #letGo(partitions: readonly number[]): Promise<void> {
    const leaving = partitions.flatMap((partition) => this.holds.get(partition) ?? []);
    for (const { partition } of leaving) this.holds.delete(partition);
    const sinceMs = performance.now();
    const never = new AbortController().signal;
    while (leaving.some(({ inflight, parked }) => inflight > parked)) {
      if (performance.now() - sinceMs > this.#parts.drainMs) break;
      await pause(20, never);
    }
    await this.#parts.committer.settled();
    this.#abandon(leaving);
  }

  #lose(partitions: readonly number[]): void {
    const lost = partitions.flatMap((partition) => this.holds.get(partition) ?? []);
    for (const { partition } of lost) this.holds.delete(partition);
    this.#abandon(lost);
  }

  #abandon(holds: readonly Hold[]): void {
    for (const hold of holds) {
      hold.lost = true;
      const unsettled = hold.inflight;
      hold.inflight = 0;
      if (unsettled > 0) this.#newest?.revoked();
    }
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#newest?.fail(error);
  }
}

/** For a new reader: everything unsettled is to be handed out again. */
function rewind(hold: Hold): void {
  hold.waiting.length = 0;
  hold.next = hold.progress.low;
  hold.inflight = 0;
  hold.parked = 0;
}

export class GroupReader<T> {
  stale = false;
  readonly #feed: GroupFeed;
  readonly #topic: Topic<T>;
  readonly #options: ReadOptions;
  readonly #subscriber: Subscriber<Delivery<T>>;
  readonly #desk: Desk;
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
    this.#desk = {
      inflightMax: options.inflightMax,
      parked: new Parked(),
      ready: (owed) => {
        feed.parts.settle(owed).catch((error: unknown) => this.fail(error));
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

  /** There is something to hand out, or room for it. */
  wake(): void {
    this.#waking();
  }

  /** One of its deliveries was committed. */
  settled(hold: Hold): void {
    if (hold.lost) return;
    hold.inflight -= 1;
    this.wake();
  }

  /** Deliveries of it are another process's now. */
  revoked(): void {
    this.wake();
    if (this.active) this.#options.revoked?.();
  }

  /** What an older reader has already sent to be settled is awaited first. */
  async #run(): Promise<void> {
    await this.#feed.parts.committer.settled();
    if (!this.active) return;
    this.#feed.begin(this as GroupReader<unknown>);
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
    const { parked } = reader;
    const topic = this.#topic.name;
    const root = { topic, position: { partition, offset }, key, reader, parked };
    const read = this.#read(record);
    hold.progress.meet(offset);
    hold.inflight += 1;
    if (read instanceof MillraceError) bury(root, record.value, read, this.#desk);
    else this.#subscriber.next(deliver(read.value, root, this.#desk));
  }

  #handoutOf(hold: Hold): Handout {
    if (this.#handout?.hold !== hold) {
      this.#handout = new Handout(this as GroupReader<unknown>, hold);
    }
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
    const read = await pages(link, parts.topics.nameOf(this.#topic.name), from, options);
    if (!this.active) return;
    await parts.schemas.prepare([...read.values()].flatMap(({ records }) => records));
    if (!this.active) return;
    for (const hold of empty) {
      const page = read.get(hold.partition)!;
      if (hold.lost || hold.next !== from.get(hold.partition)) continue;
      hold.next = page.next;
      hold.waiting.push(...page.records.filter(({ offset }) => !hold.progress.has(offset)));
    }
  }
}

/** The feeds of a log, by group and topic. */
export class GroupFeeds {
  readonly #feeds = new Map<string, GroupFeed>();
  readonly #active = new Set<string>();
  readonly #parts: FeedParts;

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  /** A cold observable; each subscription is a new reader. Fails with `GROUP_BUSY` while another reads. */
  read<T>(topic: Topic<T>, options: ReadOptions): Observable<Delivery<T>> {
    return new Observable((subscriber) => {
      const key = groupIdOf(this.#parts.run, options.group, topic.name);
      if (this.#active.has(key)) {
        subscriber.error(
          new MillraceError(
            'GROUP_BUSY',
            `group ${options.group} reads ${topic.name} already; give the second reader another group`,
          ),
        );
        return;
      }
      const feed = this.#feeds.get(key) ?? new GroupFeed(topic.name, options.group, this.#parts);
      this.#feeds.set(key, feed);
      this.#active.add(key);
      const stop = new GroupReader(feed, topic, options, subscriber).start();
      return () => {
        this.#active.delete(key);
        stop();
      };
    });
  }

  feed(topic: string, group: string): GroupFeed | undefined {
    return this.#feeds.get(groupIdOf(this.#parts.run, group, topic));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#feeds.values()].map((feed) => feed.close()));
  }
}
