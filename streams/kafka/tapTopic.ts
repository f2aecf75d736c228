/**
 * A tap on a topic of Kafka: committed records as they lie, in no group, committing nothing.
 *
 * What lies there when the tap begins comes first, over all partitions in the order of time. One that ends there
 * waits for transactions that are open, so it misses nothing that was settled before it began (the last records,
 * asked for by number, are those that can be read at once). A follower then waits on connections of its own. A page
 * a partition is held, no more. After every `BURST` records the event loop gets its turn, and the reader is asked
 * whether it has room for more.
 */
import { Observable, type Subscriber } from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import { unseal } from '../foreign/wireFormat.ts';
import type { Encoded, From, Stored, TapOptions } from '../log.ts';
import { belongs, keyTells, namesIn } from '../names.ts';
import type { Topic } from '../topic.ts';
import type { RecordPages } from './archive/recordPages.ts';
import { type KafkaTopics, partitionOf } from './kafkaTopics.ts';
import { type Link, pause } from './link.ts';
import { type Page, type Raw, sizeOf, stableEnd, writtenEnd } from './pages.ts';
import type { Schemas } from './registry.ts';

export interface TapParts {
  readonly link: Link;
  readonly topics: KafkaTopics;
  readonly pages: RecordPages;
  readonly schemas: Schemas;
  /** A reading log waits for a topic to appear; a writing one makes it. */
  readonly ensure: boolean;
  /** First offset behind what this process has written: a tap that ends there must show it. */
  readonly writtenEnd: (topic: string, partition: number) => number;
  /** What begins at the end of the log must be reported before more is written. */
  readonly before: (work: Promise<unknown>) => void;
}

const BURST = 64;
const PAGE = { waitMs: 0, bytesMax: 2 ** 20 };
const FOLLOWING = { waitMs: 500, bytesMax: 2 ** 20 };
const LOOK_AGAIN_MS = 10;
const TOPIC_LOOK_MS = 200;

/** What was written this long after the time at which a tap ends shows that a partition has passed it. */
const CLOCKS_DIFFER_MS = 60_000;

/** A partition on its way to the end. */
interface Lane {
  readonly partition: number;
  readonly waiting: Raw[];
  next: number;
  /** Where the partition ends, as far as we know. */
  end: number;
  /** Where the tap ends in it. */
  stop: number;
}

export function tapTopic<T>(
  topic: Topic<T>,
  options: TapOptions,
  parts: TapParts,
): Observable<Stored<T>> {
  return new Observable((subscriber) => {
    const tap = new Tap(topic, options, parts, subscriber);
    const beginning = tap.begin();
    if (options.from.kind === 'latest') parts.before(beginning);
    tap.run(beginning).catch((error: unknown) => subscriber.error(error));
    return () => tap.stop();
  });
}

class Tap<T> {
  readonly #topic: Topic<T>;
  readonly #options: TapOptions;
  readonly #parts: TapParts;
  readonly #subscriber: Subscriber<Stored<T>>;
  readonly #stopping = new AbortController();
  readonly #keys: ReadonlySet<string> | null = null;
  readonly #shows: (key: string, value: T) => boolean = () => true;
  #lanes: readonly Lane[] = [];
  #sinceBreath = 0;

  constructor(
    topic: Topic<T>,
    options: TapOptions,
    parts: TapParts,
    subscriber: Subscriber<Stored<T>>,
  ) {
    this.#topic = topic;
    this.#options = options;
    this.#parts = parts;
    this.#subscriber = subscriber;
    const { only } = options;
    if (only === undefined) return;
    this.#shows = belongs(topic, only);
    if (keyTells(topic, only)) this.#keys = new Set(namesIn(only));
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Each partition at the place where the tap begins. */
  async begin(): Promise<readonly Lane[]> {
    const all = this.#chosen(await this.#partitions());
    const { from, to } = this.#options;
    const starts = await this.#places(all, from);
    const stops = to === undefined || to.kind === 'time' ? null : await this.#places(all, to);
    return all.map((partition) => {
      const next = starts.get(partition)!;
      const stop = stops?.get(partition) ?? Number.POSITIVE_INFINITY;
      return { partition, waiting: [], next, end: next, stop };
    });
  }

  async run(beginning: Promise<readonly Lane[]>): Promise<void> {
    this.#lanes = await beginning;
    await this.#room();
    await this.#toEnd(this.#lanes);
    if (this.#ended) return;
    this.#tellAhead();
    const { follow, to } = this.#options;
    if (!follow || to !== undefined) return this.#subscriber.complete();
    await this.#followOn(this.#lanes);
  }

  get #ended(): boolean {
    return this.#stopping.signal.aborted || this.#subscriber.closed;
  }

  get #name(): string {
    return this.#parts.topics.nameOf(this.#topic.name);
  }

  async #partitions(): Promise<number> {
    const { topics, ensure } = this.#parts;
    const { name } = this.#topic;
    if (ensure) return topics.ensure(name);
    for (;;) {
      const count = await topics.partitions(name);
      if (count > 0 || !this.#options.follow || this.#ended) return count;
      this.#tellAhead(); // of a topic that is not there yet, nothing
      await pause(TOPIC_LOOK_MS, this.#stopping.signal);
    }
  }

  #chosen(count: number): readonly number[] {
    const { partitions } = this.#options;
    // A topic that nothing was written to has none yet.
    const other = count === 0 ? undefined : partitions?.find((partition) => partition >= count);
    if (other !== undefined) {
      throw new MillraceError(
        'NOT_FOUND',
        `${this.#name} has no partition ${other}; it has 0 to ${count - 1}`,
        { context: { topic: this.#topic.name, partition: other, count } },
      );
    }
    const all = Array.from({ length: count }, (_, partition) => partition);
    const asked = this.#askedIn(count);
    return all.filter((each) => partitions?.includes(each) !== false && asked?.has(each) !== false);
  }

  /** Partitions of the records that are asked for, where their keys tell. */
  #askedIn(count: number): ReadonlySet<number> | null {
    const { only } = this.#options;
    if (only === undefined || !keyTells(this.#topic, only)) return null;
    return new Set(namesIn(only).map((key) => partitionOf(key, count)));
  }

  /** By partition, the offset of a place. */
  async #places(partitions: readonly number[], place: From): Promise<ReadonlyMap<number, number>> {
    if (place.kind === 'last') return this.#lastOf(partitions, place.count);
    const offsets = partitions.map((each) => this.#placeIn(each, place));
    return new Map(
      (await Promise.all(offsets)).map((offset, index) => [partitions[index]!, offset]),
    );
  }

  async #placeIn(partition: number, place: From): Promise<number> {
    const { link, pages } = this.#parts;
    const { name } = this.#topic;
    switch (place.kind) {
      case 'offset':
        return Math.max(0, place.offset);
      case 'latest':
        return this.#end(partition);
      case 'time':
        return (
          (await pages.offsetAtTime(link, name, partition, place.atMs)) ?? this.#end(partition)
        );
      default:
        return pages.beginning(link, name, partition);
    }
  }

  /**
   * The end of what has been written, decided or not: a process that was killed may have left a transaction
   * open, and committed records of others lie behind it unseen until the broker gives it up.
   */
  #lastWritten(partition: number): Promise<number> {
    return writtenEnd(this.#parts.link, this.#name, partition);
  }

  /** The end of what can be read, and of what this process has written. */
  async #end(partition: number): Promise<number> {
    const stable = await stableEnd(this.#parts.link, this.#name, partition);
    return Math.max(stable, this.#parts.writtenEnd(this.#name, partition));
  }

  /** Offsets have gaps, so the last ones are looked for in ever wider stretches before the end. */
  async #lastOf(
    partitions: readonly number[],
    count: number,
  ): Promise<ReadonlyMap<number, number>> {
    // All ends first: what comes while the last are looked for is behind the beginning, in every partition.
    const ends = await Promise.all(partitions.map((partition) => this.#end(partition)));
    const found = await Promise.all(
      partitions.map((partition, index) => this.#lastOfOne(partition, count, ends[index]!)),
    );
    const newest = found.flat().sort((a, b) => b.atMs - a.atMs || b.offset - a.offset);
    const starts = new Map(partitions.map((partition, index) => [partition, ends[index]!]));
    for (const { partition, offset } of newest.slice(0, count)) {
      starts.set(partition, Math.min(starts.get(partition)!, offset));
    }
    return starts;
  }

  async #lastOfOne(
    partition: number,
    count: number,
    end: number,
  ): Promise<readonly Omit<Raw, 'value'>[]> {
    const { link, pages } = this.#parts;
    const begin = await pages.beginning(link, this.#topic.name, partition);
    const kept = pages.kept(this.#topic.name, partition);
    let start = end;
    for (let stretch = 2 * count + 16; ; stretch *= 4) {
      const wider = Math.max(begin, end - stretch);
      // What is archived is read only where the rest is not enough.
      start = wider < kept && start > kept ? kept : wider;
      const last: Omit<Raw, 'value'>[] = [];
      for (let next = start; next < end; ) {
        const page = await this.#page(partition, next);
        for (const { value: _value, ...record } of page.records) {
          if (record.offset < end) last.push(record);
          if (last.length > count) last.shift();
        }
        next = page.next;
      }
      if (last.length >= count || start === begin) return last;
    }
  }

  /** A page that is not empty unless there is nothing more to read now. */
  async #page(partition: number, next: number): Promise<Page> {
    const { link, pages } = this.#parts;
    const page = await pages.page(link, this.#topic.name, partition, next, PAGE);
    if (page.next === next) await pause(LOOK_AGAIN_MS, this.#stopping.signal);
    return page;
  }

  /** Everything up to the present end of each partition, by time. */
  async #toEnd(lanes: readonly Lane[]): Promise<void> {
    const { follow, from } = this.#options;
    const atOnce = follow || from.kind === 'last';
    const ends = await Promise.all(
      lanes.map(({ partition }) => (atOnce ? this.#end(partition) : this.#lastWritten(partition))),
    );
    for (const [index, lane] of lanes.entries()) lane.end = ends[index]!;
    const open = (lane: Lane): boolean => this.#aheadIn(lane) > 0;
    while (!this.#ended) {
      for (const lane of lanes) {
        while (!this.#ended && lane.waiting.length === 0 && open(lane)) await this.#fill(lane);
      }
      const ready = lanes.filter(({ waiting }) => waiting.length > 0);
      const [first] = ready.sort((a, b) => a.waiting[0]!.atMs - b.waiting[0]!.atMs);
      if (first === undefined) return;
      await this.#show(first.waiting.shift()!);
    }
  }

  async #fill(lane: Lane): Promise<void> {
    const page = await this.#page(lane.partition, lane.next);
    await this.#take(lane, page);
  }

  async #take(lane: Lane, page: Page): Promise<void> {
    const records = page.records.filter(
      (record) => record.offset < lane.stop && this.#mayBeAsked(record),
    );
    await this.#parts.schemas.prepare(records);
    lane.waiting.push(...records);
    lane.next = page.next;
    const { to } = this.#options;
    if (to?.kind !== 'time') return;
    const lateMs = to.atMs + CLOCKS_DIFFER_MS;
    if (records.some(({ atMs }) => atMs >= lateMs)) lane.stop = page.next;
  }

  async #followOn(lanes: readonly Lane[]): Promise<void> {
    const link = this.#parts.link.another();
    try {
      while (!this.#ended) {
        const from = new Map(lanes.map(({ partition, next }) => [partition, next]));
        const read = await this.#parts.pages.pages(link, this.#topic.name, from, FOLLOWING);
        for (const lane of lanes) lane.end = read.get(lane.partition)!.stable;
        for (const lane of lanes) {
          await this.#take(lane, read.get(lane.partition)!);
          for (let next = lane.waiting.shift(); next !== undefined; next = lane.waiting.shift()) {
            await this.#show(next);
          }
        }
        this.#tellAhead();
        // A start past the end is answered at once.
        if ([...read.values()].every(({ next, stable }) => next > stable)) {
          await pause(LOOK_AGAIN_MS, this.#stopping.signal);
        }
      }
    } finally {
      await link.close();
    }
  }

  /** The broker's index of times knows the marks of transactions too, which bear its own clock. */
  #isOutside({ atMs }: Raw): boolean {
    const { from, to } = this.#options;
    return (from.kind === 'time' && atMs < from.atMs) || (to?.kind === 'time' && atMs >= to.atMs);
  }

  async #show(record: Raw): Promise<void> {
    if (this.#ended || this.#isOutside(record)) return;
    const { partition, offset, key, atMs } = record;
    const read = this.#read(record);
    if (read !== null && this.#shows(key, read.value)) {
      const { value } = read;
      const position = { partition, offset };
      const bytes = sizeOf(record);
      const stored = { topic: this.#topic.name, position, key, value, atMs, bytes };
      const { encoded } = this.#options;
      this.#subscriber.next(encoded === true ? { ...stored, encoded: encodedOf(record) } : stored);
    }
    this.#sinceBreath += 1;
    if (this.#sinceBreath < BURST) return;
    this.#sinceBreath = 0;
    this.#tellAhead();
    await new Promise<void>((resolve) => setImmediate(resolve));
    await this.#room();
  }

  /** By its key alone, so that what is not asked for is not decoded. */
  #mayBeAsked({ key }: Raw): boolean {
    return this.#keys?.has(key) !== false;
  }

  /** Null when it cannot be read and the tap goes on all the same. */
  #read(record: Raw): { readonly value: T } | null {
    try {
      return { value: this.#parts.schemas.decode(this.#topic, record) };
    } catch (error) {
      const { unreadable } = this.#options;
      if (unreadable === undefined || !(error instanceof MillraceError)) throw error;
      const { partition, offset } = record;
      unreadable({ partition, offset }, error, encodedOf(record));
      return null;
    }
  }

  async #room(): Promise<void> {
    await this.#options.room?.();
  }

  /** Offsets between the last record shown and the end. */
  #aheadIn({ waiting, next, end, stop }: Lane): number {
    return Math.max(waiting.length, Math.min(end, stop) - (waiting[0]?.offset ?? next));
  }

  #tellAhead(): void {
    if (this.#ended) return;
    const { ahead } = this.#options;
    ahead?.(this.#lanes.reduce((sum, lane) => sum + this.#aheadIn(lane), 0));
  }
}

/** Of a record that is not in the wire format, all there is. */
function encodedOf({ value }: Raw): Encoded {
  const sealed = unseal(value);
  return sealed === null ? { schema: null, body: value } : { schema: sealed.id, body: sealed.body };
}
