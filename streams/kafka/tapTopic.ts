/**
 * A tap on a topic of Kafka: committed records as stored, in no group, committing nothing.
 *
 * It begins at a place in each partition, shows everything up to the end, over all partitions in the order of
 * time, and a follower then waits for more on a connection of its own. A tap that ends there waits for open
 * transactions, so it misses nothing that was settled before it began (the last records, requested by number,
 * are those that can be read at once). It holds one page a partition, no more. After every `BURST` records
 * the event loop gets its turn, and the reader is asked whether it has room for more.
 */
import { Observable, type Subscriber } from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import { unseal } from '../foreign/wireFormat.ts';
import type { Encoded, Stored, TapOptions } from '../log.ts';
import { belongs, keyTells, namesIn } from '../names.ts';
import type { Topic } from '../topic.ts';
import { partitionOf } from './kafkaTopics.ts';
import { pause } from './link.ts';
import { type Page, type Raw, sizeOf } from './pages.ts';
import type { Schemas } from './registry.ts';
import { LOOK_AGAIN_MS, type PlacesParts, TapPlaces } from './tapPlaces.ts';

export interface TapParts extends PlacesParts {
  readonly schemas: Schemas;
  /** A reading log waits for a topic to appear; a writing one makes it. */
  readonly ensure: boolean;
  /** What begins at the end of the log must be reported before more is written. */
  readonly before: (work: Promise<unknown>) => void;
}

const BURST = 64;
const FOLLOWING = { waitMs: 500, bytesMax: 2 ** 20 };
const TOPIC_LOOK_MS = 200;

/** A record this much later than the time at which a tap ends shows that its partition has passed it. */
const CLOCKS_DIFFER_MS = 60_000;

/** How far a tap has come in a partition. */
interface Cursor {
  readonly partition: number;
  /** Read and not shown yet. */
  readonly waiting: Raw[];
  next: number;
  /** Where the partition ends, as far as we know. */
  end: number;
  /** Where the tap ends in it. */
  stop: number;
}

/** Offsets between the last record shown and the end. */
function aheadOf({ waiting, next, end, stop }: Cursor): number {
  return Math.max(waiting.length, Math.min(end, stop) - (waiting[0]?.offset ?? next));
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
    beginning
      .then((cursors) => tap.run(cursors))
      .catch((error: unknown) => subscriber.error(error));
    return () => tap.stop();
  });
}

class Tap<T> {
  readonly #topic: Topic<T>;
  readonly #options: TapOptions;
  readonly #parts: TapParts;
  readonly #subscriber: Subscriber<Stored<T>>;
  readonly #stopping = new AbortController();
  readonly #places: TapPlaces;
  /** The keys to match, if the key alone decides: other records are then not decoded. */
  readonly #keys: ReadonlySet<string> | null = null;
  readonly #isAsked: (key: string, value: T) => boolean = () => true;
  #cursors: readonly Cursor[] = [];
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
    this.#places = new TapPlaces(topic.name, parts, this.#stopping.signal);
    const { only } = options;
    if (only === undefined) return;
    this.#isAsked = belongs(topic, only);
    if (keyTells(topic, only)) this.#keys = new Set(namesIn(only));
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** A cursor where the tap begins in each partition. */
  async begin(): Promise<readonly Cursor[]> {
    const partitions = this.#chosen(await this.#partitions());
    const { from, to } = this.#options;
    const starts = await this.#places.offsets(partitions, from);
    const stops =
      to === undefined || to.kind === 'time' ? null : await this.#places.offsets(partitions, to);
    return partitions.map((partition) => {
      const next = starts.get(partition)!;
      const stop = stops?.get(partition) ?? Number.POSITIVE_INFINITY;
      return { partition, waiting: [], next, end: next, stop };
    });
  }

  async run(cursors: readonly Cursor[]): Promise<void> {
    this.#cursors = cursors;
    await this.#room();
    await this.#toEnd();
    if (this.#ended) return;
    this.#tellAhead();
    const { follow, to } = this.#options;
    if (follow && to === undefined) await this.#follow();
    else this.#subscriber.complete();
  }

  get #ended(): boolean {
    return this.#stopping.signal.aborted || this.#subscriber.closed;
  }

  /** How many partitions the topic has; 0 = it does not exist. */
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

  /** The partitions to read, by number or by the keys that they hold. */
  #chosen(count: number): readonly number[] {
    const { partitions } = this.#options;
    // A topic that nothing was written to has none yet.
    const other = count === 0 ? undefined : partitions?.find((partition) => partition >= count);
    if (other !== undefined) {
      const name = this.#parts.topics.nameOf(this.#topic.name);
      throw new MillraceError(
        'NOT_FOUND',
        `${name} has no partition ${other}; it has 0 to ${count - 1}`,
        { context: { topic: this.#topic.name, partition: other, count } },
      );
    }
    const holding = this.#keys && new Set([...this.#keys].map((key) => partitionOf(key, count)));
    return Array.from({ length: count }, (_, partition) => partition).filter(
      (each) => partitions?.includes(each) !== false && holding?.has(each) !== false,
    );
  }

  /** Everything up to the current end of each partition, by time. */
  async #toEnd(): Promise<void> {
    const { follow, from } = this.#options;
    const atOnce = follow || from.kind === 'last';
    const places = this.#places;
    await Promise.all(
      this.#cursors.map(async (cursor) => {
        const { partition } = cursor;
        cursor.end = await (atOnce ? places.readableEnd(partition) : places.writtenEnd(partition));
      }),
    );
    while (!this.#ended) {
      for (const cursor of this.#cursors) {
        while (!this.#ended && cursor.waiting.length === 0 && aheadOf(cursor) > 0) {
          await this.#take(cursor, await places.page(cursor.partition, cursor.next));
        }
      }
      const ready = this.#cursors.filter(({ waiting }) => waiting.length > 0);
      const [first] = ready.sort((a, b) => a.waiting[0]!.atMs - b.waiting[0]!.atMs);
      if (first === undefined) return;
      await this.#show(first.waiting.shift()!);
    }
  }

  /** What comes after that, as it arrives. */
  async #follow(): Promise<void> {
    const link = this.#parts.link.another();
    try {
      while (!this.#ended) {
        const from = new Map(this.#cursors.map(({ partition, next }) => [partition, next]));
        const read = await this.#parts.pages.pages(link, this.#topic.name, from, FOLLOWING);
        for (const cursor of this.#cursors) cursor.end = read.get(cursor.partition)!.stable;
        for (const cursor of this.#cursors) {
          await this.#take(cursor, read.get(cursor.partition)!);
          while (cursor.waiting.length > 0) await this.#show(cursor.waiting.shift()!);
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

  async #take(cursor: Cursor, page: Page): Promise<void> {
    const records = page.records.filter(
      ({ offset, key }) => offset < cursor.stop && this.#keys?.has(key) !== false,
    );
    await this.#parts.schemas.prepare(records);
    cursor.waiting.push(...records);
    cursor.next = page.next;
    const { to } = this.#options;
    if (to?.kind !== 'time') return;
    const lateMs = to.atMs + CLOCKS_DIFFER_MS;
    if (records.some(({ atMs }) => atMs >= lateMs)) cursor.stop = page.next;
  }

  /** The broker's time index includes transaction marks, which carry the broker's clock. */
  #isOutside({ atMs }: Raw): boolean {
    const { from, to } = this.#options;
    return (from.kind === 'time' && atMs < from.atMs) || (to?.kind === 'time' && atMs >= to.atMs);
  }

  async #show(record: Raw): Promise<void> {
    if (this.#ended || this.#isOutside(record)) return;
    const { partition, offset, key, atMs } = record;
    const read = this.#read(record);
    if (read !== null && this.#isAsked(key, read.value)) {
      this.#subscriber.next({
        topic: this.#topic.name,
        position: { partition, offset },
        key,
        value: read.value,
        atMs,
        bytes: sizeOf(record),
        ...(this.#options.encoded === true && { encoded: encodedOf(record) }),
      });
    }
    this.#sinceBreath += 1;
    if (this.#sinceBreath < BURST) return;
    this.#sinceBreath = 0;
    this.#tellAhead();
    await new Promise<void>((resolve) => setImmediate(resolve));
    await this.#room();
  }

  /** Null when it cannot be read and the tap goes on anyway. */
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

  #tellAhead(): void {
    if (this.#ended) return;
    const { ahead } = this.#options;
    ahead?.(this.#cursors.reduce((sum, cursor) => sum + aheadOf(cursor), 0));
  }
}

/** All there is of a record that is not in the wire format. */
function encodedOf({ value }: Raw): Encoded {
  const sealed = unseal(value);
  return sealed === null ? { schema: null, body: value } : { schema: sealed.id, body: sealed.body };
}
