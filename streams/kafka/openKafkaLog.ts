/**
 * A log on Kafka: the same contract as the embedded one, over topics `<run>.<topic>` of a cluster.
 *
 * One process of a run is a *worker* with a name. All its commits go through one transactional producer
 * of that name, so a new process under the name takes over from the old one, whatever state that is in;
 * workers of different names share the partitions of what they read. Opened to read, it joins nothing
 * and writes nothing. Positions are Kafka's: they rise along a partition, with gaps.
 */
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { defer, Observable, takeUntil } from 'rxjs';
import { type Clock, MillraceError, systemClock } from '../../base/index.ts';
import { largeOf, retain } from '../archive/retain.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import type { Root } from '../deliveries/family.ts';
import { type Settlement, settlementsOf } from '../deliveries/settlement.ts';
import { HttpRegistry } from '../foreign/httpRegistry.ts';
import { type Environment, kafkaSettings } from '../foreign/kafkaUrl.ts';
import type {
  Log,
  LostTopic,
  Mark,
  ReadOptions,
  Retained,
  Retention,
  Stored,
  TapOptions,
  TopicStat,
  Tx,
} from '../log.ts';
import { closedLog, readOnlyLog } from '../logErrors.ts';
import type { Position } from '../position.ts';
import type { Topic } from '../topic.ts';
import { RecordPages } from './archive/recordPages.ts';
import { ShrinkingRun } from './archive/shrinkingRun.ts';
import { Board } from './board.ts';
import { type Append, Committer, type Family } from './committer.ts';
import { fetchPositions } from './fetchPositions.ts';
import { groupIdOf } from './groupFeed.ts';
import { GroupFeeds } from './groupFeeds.ts';
import { KafkaTopics } from './kafkaTopics.ts';
import { Link } from './link.ts';
import { LogRegistry } from './logRegistry.ts';
import { lostTopics, mustBeItsCluster, mustBeWhole } from './lostTopics.ts';
import { PartitionReader } from './partitionReader.ts';
import { Schemas } from './registry.ts';
import { committedProgress, type Settle } from './settles.ts';
import { markKey, STATE_TOPIC, StateTopic } from './stateTopic.ts';
import { tapTopic } from './tapTopic.ts';
import { Transactor } from './transactor.ts';

export interface KafkaLogOptions {
  /** As in `kafkaUrl.ts`. */
  readonly url: string;
  /** Names the topics: letters, digits, _ and -. */
  readonly run: string;
  readonly mode: 'write' | 'read';
  /**
   * The topics of the run, as far as they are known: which have one partition, and which retention may
   * shrink.
   */
  readonly topics: readonly Topic<unknown>[];
  /** Gives records their time. */
  readonly clock?: Clock;
  /** Name of this process among those that share the run; the URL's `worker`, or `main`, when absent. */
  readonly worker?: string;
  /** The log's folder in the run's folder: archived segments nearby have names relative to it. */
  readonly logFolder?: string;
  /** Passwords and file names that the URL omits. */
  readonly env?: Environment;
  /** Called when the broker has not answered for a long time, and when it answers again. */
  readonly notice?: (line: string) => void;
  /** How long to wait for a broker that answered before and no longer does. */
  readonly patienceMs?: number;
  /** How long to wait for it at the start. */
  readonly openMs?: number;
  /** The cluster that holds the run's records, if known. */
  readonly cluster?: string;
  /** A worker that is silent for this long loses its partitions. The broker limits this value. */
  readonly sessionMs?: number;
  /** How long a partition that moves to another worker waits for work under way. */
  readonly drainMs?: number;
}

const PATIENCE_MS = 5 * 60_000;
const OPEN_MS = 15_000;
const SESSION_MS = 15_000;
const DRAIN_MS = 30_000;
const TRANSACTION_MS = 30_000;
const HEARTBEATS_A_SESSION = 10;
const HEARTBEAT_MAX_MS = 1_000;

/**
 * Fails with `KAFKA` (no broker answers), `KAFKA_AUTH`, `NO_LOG` (mode `read`: no such run), `OTHER_CLUSTER`,
 * `TOPIC_GONE` (mode `write`: records of the run were deleted) or `USAGE`.
 */
export async function openKafkaLog(options: KafkaLogOptions): Promise<Log> {
  const log = new KafkaLog(options);
  try {
    await log.open();
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
}

/** Several links meet the same outage, which is reported once. */
function once(notice: (line: string) => void): (line: string) => void {
  let last = '';
  return (line) => {
    if (line !== last) notice(line);
    last = line;
  };
}

class KafkaLog implements Log {
  readonly #options: KafkaLogOptions;
  readonly #worker: string;
  /** For commits and lookups. */
  readonly #link: Link;
  readonly #lookup: Link;
  readonly #topics: KafkaTopics;
  readonly #state: StateTopic;
  readonly #pages: RecordPages;
  readonly #schemas: Schemas;
  readonly #transactor: Transactor;
  readonly #committer: Committer;
  readonly #feeds: GroupFeeds;
  readonly #board: Board;
  readonly #closing = new AbortController();
  /** Each ends a tap or a reader. */
  readonly #enders = new Set<() => void>();
  readonly #closing$ = new Observable<void>((subscriber) => {
    const end = (): void => subscriber.next();
    this.#enders.add(end);
    return () => this.#enders.delete(end);
  });
  #shrinking: ShrinkingRun | null = null;
  #retaining: Promise<Retained> | null = null;
  #closed = false;

  constructor(options: KafkaLogOptions) {
    const { url, run, clock = systemClock, env = {}, notice = () => undefined } = options;
    const settings = kafkaSettings(url, env);
    this.#options = options;
    setMaxListeners(0, this.#closing.signal); // every link listens
    this.#worker = options.worker ?? settings.worker;
    this.#link = new Link({
      settings,
      notice: once(notice),
      clientId: `millrace.${run}.${this.#worker}`,
      patienceMs: options.patienceMs ?? PATIENCE_MS,
      closing: this.#closing.signal,
    });
    this.#lookup = this.#link.another();
    this.#topics = new KafkaTopics(this.#lookup, run, options.topics);
    this.#state = new StateTopic(this.#lookup, this.#topics);
    this.#pages = new RecordPages(this.#topics, this.#state, options.logFolder ?? '');
    this.#board = new Board(this.#lookup, this.#topics, this.#worker);
    const { registry } = settings;
    this.#schemas = new Schemas(
      registry === null
        ? new LogRegistry(this.#lookup, this.#topics)
        : new HttpRegistry(registry, run),
    );
    this.#transactor = new Transactor(this.#link, this.#state, {
      run,
      worker: this.#worker,
      clock,
      timeoutMs: TRANSACTION_MS,
    });
    this.#committer = new Committer({
      transactor: this.#transactor,
      topics: this.#topics,
      schemas: this.#schemas,
      state: this.#state,
      clock,
    });
    const sessionMs = options.sessionMs ?? SESSION_MS;
    this.#feeds = new GroupFeeds({
      run,
      worker: this.#worker,
      link: this.#link,
      topics: this.#topics,
      pages: this.#pages,
      schemas: this.#schemas,
      state: this.#state,
      committer: this.#committer,
      sessionMs,
      heartbeatMs: Math.min(HEARTBEAT_MAX_MS, sessionMs / HEARTBEATS_A_SESSION),
      drainMs: options.drainMs ?? DRAIN_MS,
      settle: (delivery) => this.commit((tx) => tx.settle(delivery)),
    });
  }

  async open(): Promise<void> {
    const { run, mode, cluster, openMs = OPEN_MS } = this.#options;
    await this.#lookup.reach(openMs);
    mustBeItsCluster(run, cluster, this.cluster);
    if (mode === 'write') {
      await this.#topics.ensure(STATE_TOPIC, 'state');
      await this.#state.refresh();
      mustBeWhole(run, await this.lost());
      await this.#transactor.open();
    } else if (await this.#state.exists()) {
      await this.#state.refresh();
    } else {
      throw new MillraceError('NO_LOG', `there is no run ${run} on this Kafka; check the name`, {
        context: { run },
      });
    }
  }

  read<T>(topic: Topic<T>, options: ReadOptions): Observable<Delivery<T>> {
    this.#mustWrite();
    return this.#feeds.read(topic, options).pipe(takeUntil(this.#closing$));
  }

  async commit(write: (tx: Tx) => void): Promise<void> {
    this.#mustWrite();
    const appends: Append[] = [];
    const deliveries: Delivery<unknown>[] = [];
    const marks = new Map<string, Mark>();
    write({
      append: (topic, value) => void appends.push(encoded(topic as Topic<unknown>, value)),
      settle: (delivery) => void deliveries.push(delivery),
      mark: (name, value) => void marks.set(name, value),
    });
    const families = settlementsOf(deliveries).map(familyOf);
    if (appends.length + families.length + marks.size === 0) return;
    await this.#committer.commit({
      appends,
      marks,
      families,
      committed: () => {
        for (const { settles } of families) {
          for (const { owned, reader } of settles) reader.settled(owned);
        }
      },
    });
  }

  async fetch<T>(topic: Topic<T>, positions: readonly Position[]): Promise<readonly Stored<T>[]> {
    this.#open();
    return fetchPositions(topic, positions, {
      link: this.#lookup,
      topics: this.#topics,
      pages: this.#pages,
      schemas: this.#schemas,
      writtenEnd: (name, partition) => this.#committer.writtenEnd(name, partition),
      closing: this.#closing.signal,
    });
  }

  tap<T>(topic: Topic<T>, options: TapOptions): Observable<Stored<T>> {
    return defer(() => {
      this.#open();
      return tapTopic(topic, options, {
        link: this.#lookup,
        topics: this.#topics,
        pages: this.#pages,
        schemas: this.#schemas,
        ensure: this.#options.mode === 'write',
        writtenEnd: (name, partition) => this.#committer.writtenEnd(name, partition),
        before: (work) => this.#committer.after(work),
      });
    }).pipe(takeUntil(this.#closing$));
  }

  async mark(name: string): Promise<Mark> {
    this.#open();
    await this.#state.refresh();
    return this.#state.get<Mark>(markKey(name)) ?? 0;
  }

  /**
   * Reads what is settled first and what is written second: what another process does in between can make the
   * lag too large, never too small. If a transaction's settlements can be read but its records cannot yet (a
   * partition without a leader learns late that it was committed), waits for it.
   */
  async lag(topic: Topic<unknown>, group: string): Promise<number> {
    this.#open();
    const settled = await this.#settled(topic.name, group);
    await this.#state.settled();
    return Math.max(0, (this.#state.counts().get(topic.name)?.records ?? 0) - settled);
  }

  async stats(): Promise<readonly TopicStat[]> {
    this.#open();
    await this.#state.refresh();
    const groups = this.#state.under<true>('group/').map(([place]) => place.split('/'));
    const settled = await Promise.all(
      groups.map(([topic = '', group = '']) => this.#settled(topic, group)),
    );
    await this.#state.refresh();
    const counts = [...this.#state.counts()].sort(([a], [b]) => (a < b ? -1 : 1));
    return counts.map(([topic, { records, bytes }]) => {
      const lags = groups.flatMap(([of, group = ''], i) =>
        of === topic ? [[group, Math.max(0, records - settled[i]!)] as const] : [],
      );
      return { topic, records, bytes, lag: Object.fromEntries(lags) };
    });
  }

  async post(about: unknown): Promise<void> {
    this.#mustWrite();
    await this.#board.post(about, (this.#options.clock ?? systemClock).now());
  }

  async posted(): Promise<readonly unknown[]> {
    this.#open();
    return this.#board.posted();
  }

  async lost(): Promise<readonly LostTopic[]> {
    this.#open();
    return lostTopics(this.#lookup, this.#topics, this.#state);
  }

  async retain(retention: Retention): Promise<Retained> {
    this.#mustWrite();
    this.#retaining ??= this.#retain(retention).finally(() => {
      this.#retaining = null;
    });
    return this.#retaining;
  }

  get cluster(): string {
    return this.#lookup.clusterId;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const end of [...this.#enders]) end();
    await this.#retaining?.catch(() => undefined);
    await this.#committer.settled();
    await this.#feeds.close();
    this.#closing.abort();
    await this.#link.close();
    await this.#lookup.close();
  }

  async #retain(retention: Retention): Promise<Retained> {
    const { run, logFolder, clock = systemClock } = this.#options;
    const archive = retention.archive ?? (logFolder && join(logFolder, 'archive'));
    if (archive === undefined) {
      throw new MillraceError(
        'USAGE',
        'give a place to archive records: a folder or the address of an object store',
      );
    }
    this.#shrinking ??= new ShrinkingRun({
      run,
      large: largeOf(this.#options.topics),
      link: this.#lookup,
      topics: this.#topics,
      state: this.#state,
      pages: this.#pages,
      committer: this.#committer,
    });
    await this.#shrinking.begin({ logFolder: logFolder ?? '', archive });
    return retain(this.#shrinking, retention, clock.now());
  }

  /** Records of the topic that the group has settled. */
  async #settled(topic: string, group: string): Promise<number> {
    const own = this.#feeds.feed(topic, group)?.settled ?? null;
    if (own !== null) return own;
    const count = await this.#topics.partitions(topic);
    if (count === 0) return 0;
    const progress = await committedProgress(this.#lookup, this.#state, {
      topic,
      group,
      groupId: groupIdOf(this.#options.run, group, topic),
      name: this.#topics.nameOf(topic),
      partitions: [...Array(count).keys()],
    });
    return progress.reduce((sum, [, { settled }]) => sum + settled, 0);
  }

  #mustWrite(): void {
    this.#open();
    if (this.#options.mode === 'write') return;
    throw readOnlyLog();
  }

  #open(): void {
    if (this.#closed) throw closedLog();
  }
}

function encoded(topic: Topic<unknown>, value: unknown): Append {
  const body = topic.codec.encode(value);
  return { topic, key: topic.key(value), body };
}

/** A family whose records were handed out by this log. */
interface Handed extends Family {
  readonly settles: readonly (Settle & Pick<PartitionReader, 'reader'>)[];
}

function familyOf({ roots, writes }: Settlement): Handed {
  const settles = roots.map((root) => {
    const { owned, reader } = partitionReaderOf(root);
    return { owned, reader, offset: root.position.offset };
  });
  return { appends: writes.map(({ topic, value }) => encoded(topic, value)), settles };
}

function partitionReaderOf({ reader: partitionReader }: Root): PartitionReader {
  if (!(partitionReader instanceof PartitionReader)) {
    throw new MillraceError('STALE', 'this delivery was read from another log');
  }
  const { reader, owned } = partitionReader;
  if (!reader.stale) return partitionReader;
  throw new MillraceError(
    'STALE',
    `a newer reader of ${owned.topic} in group ${owned.group} has taken over this record`,
  );
}
