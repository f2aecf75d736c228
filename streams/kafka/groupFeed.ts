/**
 * The partitions that this process has of one topic for one group, and how they come and go.
 *
 * It outlives its readers: whatever one has handed out and not settled, the next one hands out again.
 */
import type { Delivery } from '../deliveries/delivery.ts';
import type { RecordPages } from './archive/recordPages.ts';
import type { Committer } from './committer.ts';
import type { KafkaTopics } from './kafkaTopics.ts';
import { type Link, pause } from './link.ts';
import { Membership } from './membership.ts';
import type { OwnedPartition } from './ownedPartition.ts';
import { PartitionProgress } from './partitionProgress.ts';
import type { CurrentReader } from './partitionReader.ts';
import type { Schemas } from './registry.ts';
import { committedProgress } from './settles.ts';
import type { StateTopic } from './stateTopic.ts';

export interface FeedParts {
  readonly run: string;
  readonly worker: string;
  readonly link: Link;
  readonly topics: KafkaTopics;
  readonly pages: RecordPages;
  readonly schemas: Schemas;
  readonly state: StateTopic;
  readonly committer: Committer;
  readonly sessionMs: number;
  readonly heartbeatMs: number;
  /** A partition that moves to another process waits this long for work under way. */
  readonly drainMs: number;
  /** Commits what is dropped before a stage adopts it. */
  readonly settle: (delivery: Delivery<unknown>) => Promise<void>;
}

export const groupIdOf = (run: string, group: string, topic: string): string =>
  `${run}.${group}.${topic}`;

export class GroupFeed {
  readonly topic: string;
  readonly group: string;
  readonly owned = new Map<number, OwnedPartition>();
  readonly #parts: FeedParts;
  readonly #link: Link;
  #membership: Membership | null = null;
  #partitions = 1;
  #newest: CurrentReader | null = null;
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

  /** Records settled; null while another process may hold some of them. */
  get settled(): number | null {
    if (this.#membership?.holdsAll !== true) return null;
    const owned = [...this.owned.values()];
    if (owned.length < this.#partitions) return null; // not yet looked up
    return owned.reduce((sum, { progress }) => sum + progress.settled, 0);
  }

  begin(reader: CurrentReader): void {
    if (this.#newest !== null) this.#newest.stale = true;
    this.#newest = reader;
    for (const owned of this.owned.values()) rewind(owned);
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
      groupId: groupIdOf(run, this.group, this.topic),
      topic: topics.nameOf(this.topic),
      partitions,
      worker,
      sessionMs,
      heartbeatMs,
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
    const place = { topic: this.topic, group: this.group };
    const committed = await committedProgress(this.#link, this.#parts.state, {
      ...place,
      groupId: membership.groupId,
      name: membership.topic,
      partitions,
    });
    for (const [partition, state] of committed) {
      const progress = new PartitionProgress(state);
      this.owned.set(partition, {
        ...place,
        membership,
        partition,
        progress,
        lost: false,
        waiting: [],
        next: progress.low,
        inflight: 0,
        waitingInGroups: 0,
      });
    }
    this.#newest?.wake();
  }

  /**
   * Stops handing them out and waits for work under way. The process that gets them gathers their open groups
   * from the start.
   */
  async #letGo(partitions: readonly number[]): Promise<void> {
    const leaving = partitions.flatMap((partition) => this.owned.get(partition) ?? []);
    for (const { partition } of leaving) this.owned.delete(partition);
    const sinceMs = performance.now();
    const never = new AbortController().signal;
    while (leaving.some(({ inflight, waitingInGroups }) => inflight > waitingInGroups)) {
      if (performance.now() - sinceMs > this.#parts.drainMs) break;
      await pause(20, never);
    }
    await this.#parts.committer.settled();
    this.#abandon(leaving);
  }

  #lose(partitions: readonly number[]): void {
    const lost = partitions.flatMap((partition) => this.owned.get(partition) ?? []);
    for (const { partition } of lost) this.owned.delete(partition);
    this.#abandon(lost);
  }

  #abandon(lost: readonly OwnedPartition[]): void {
    for (const owned of lost) {
      owned.lost = true;
      const unsettled = owned.inflight;
      owned.inflight = 0;
      if (unsettled > 0) this.#newest?.revoked();
    }
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#newest?.fail(error);
  }
}

/** For a new reader: everything unsettled is handed out again. */
function rewind(owned: OwnedPartition): void {
  owned.waiting.length = 0;
  owned.next = owned.progress.low;
  owned.inflight = 0;
  owned.waitingInGroups = 0;
}
