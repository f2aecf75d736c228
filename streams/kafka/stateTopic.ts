/**
 * What a run knows about itself besides its records: a compacted topic, `<run>._state`.
 *
 * Under `writer/<worker>` is what each process has appended so far and the number of its last commit; under
 * `mark/<name>` the marks; under `group/<topic>/<group>` the reading groups; under `unsettled/…` progress too
 * long for a committed offset's metadata; under `partitions/<topic>` how many the run's records are in; under
 * `archive/…` what has left the topics for the archive; under `commit/<worker>/<number>` what each commit
 * did, which is kept for those who look back (`copyRun.ts`) and skipped here. All of it is written in the
 * commits it is about, so it is true whenever it can be read: counting a topic requires no reading of it.
 */
import type { Mark } from '../log.ts';
import { ARCHIVE, Archived, type KafkaSegment } from './archive/archived.ts';
import type { KafkaTopics } from './kafkaTopics.ts';
import type { Link } from './link.ts';
import { pageOf, stableEnd, writtenEnd } from './pages.ts';

export const STATE_TOPIC = '_state';

const PAGE = { waitMs: 0, bytesMax: 4 * 2 ** 20 };
const LOOK_AGAIN_MS = 5;

/** Records and bytes of keys and values. */
export interface Count {
  readonly records: number;
  readonly bytes: number;
}

export interface WriterState {
  /** Which start of this worker wrote it; a later one takes over from an earlier one. */
  readonly incarnation: number;
  /** Number of its last commit. */
  readonly commit: number;
  readonly counts: Readonly<Record<string, Count>>;
}

/** What a commit did besides the records that it wrote. */
export interface CommitNote {
  /** By topic: partition and number of records, by turns, in the order in which they were appended. */
  readonly appended: Readonly<Record<string, readonly number[]>>;
  /** What it settled; no offsets: the group became known. */
  readonly settled: readonly (readonly [
    topic: string,
    group: string,
    partition: number,
    offsets: readonly number[],
  ])[];
  readonly marks: Readonly<Record<string, Mark>>;
}

export const NEW_WRITER: WriterState = { incarnation: 0, commit: 0, counts: {} };

export class StateTopic {
  readonly #link: Link;
  readonly #topics: KafkaTopics;
  readonly #values = new Map<string, unknown>();
  /** Keys that this process has written: what the log says about them is older or the same. */
  readonly #own = new Set<string>();
  #next = 0;
  /** Increases when everything must be read again. */
  #times = 0;
  /** What is archived stays archived, so it is never forgotten. */
  readonly archived = new Archived();
  /** One reading at a time; each sees what was there when it was requested. */
  #reading: Promise<void> = Promise.resolve();

  constructor(link: Link, topics: KafkaTopics) {
    this.#link = link;
    this.#topics = topics;
  }

  get name(): string {
    return this.#topics.nameOf(STATE_TOPIC);
  }

  exists(): Promise<boolean> {
    return this.#topics.partitions(STATE_TOPIC).then((count) => count > 0);
  }

  /** Reads what has been committed since the last call. */
  refresh(): Promise<void> {
    const reading = this.#reading.then(() => this.#readOn());
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  /** As `refresh`, once every transaction that was open at this moment is decided. */
  async settled(): Promise<void> {
    const end = await writtenEnd(this.#link, this.name, 0);
    while ((await stableEnd(this.#link, this.name, 0)) < end) {
      await new Promise((done) => setTimeout(done, LOOK_AGAIN_MS));
    }
    await this.refresh();
  }

  /** Forgets that our own writes are newer than the log: they may have been lost, or overtaken. */
  distrust(): void {
    this.#own.clear();
    this.#values.clear();
    this.#next = 0;
    this.#times += 1;
  }

  get<T>(key: string): T | undefined {
    return this.#values.get(key) as T | undefined;
  }

  /** What this process has committed, before it can be read. */
  committed(key: string, value: unknown): void {
    if (this.#isArchived(key, value)) return;
    this.#own.add(key);
    this.#set(key, value);
  }

  #set(key: string, value: unknown): void {
    this.#values.set(key, value);
    if (key.startsWith(PARTITIONS)) {
      this.#topics.use(key.slice(PARTITIONS.length), value as number);
    }
  }

  under<T>(prefix: string): readonly (readonly [rest: string, value: T])[] {
    return [...this.#values]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => [key.slice(prefix.length), value as T] as const);
  }

  /** Over all writers, by topic. */
  counts(): ReadonlyMap<string, Count> {
    const sums = new Map<string, Count>();
    for (const [, { counts }] of this.under<WriterState>(WRITERS)) {
      for (const [topic, { records, bytes }] of Object.entries(counts)) {
        const sum = sums.get(topic) ?? { records: 0, bytes: 0 };
        sums.set(topic, { records: sum.records + records, bytes: sum.bytes + bytes });
      }
    }
    return sums;
  }

  async #readOn(): Promise<void> {
    const end = await stableEnd(this.#link, this.name, 0);
    while (this.#next < end) {
      const times = this.#times;
      const { records, next } = await pageOf(this.#link, this.name, 0, this.#next, PAGE);
      if (times !== this.#times) continue; // forgotten meanwhile: from the beginning
      for (const { key, value } of records) {
        if (key.startsWith(COMMITS) || this.#own.has(key)) continue;
        const entry = JSON.parse(value.toString('utf8'));
        if (!this.#isArchived(key, entry)) this.#set(key, entry);
      }
      this.#next = next;
    }
  }

  #isArchived(key: string, value: unknown): boolean {
    if (!key.startsWith(ARCHIVE)) return false;
    this.archived.add(key, value as KafkaSegment);
    return true;
  }
}

/** Keys that notes of commits begin with. */
export const COMMITS = 'commit/';
/** And those of writers. */
export const WRITERS = 'writer/';
const PARTITIONS = 'partitions/';
export const partitionsKey = (topic: string): string => `${PARTITIONS}${topic}`;
export const commitKey = (worker: string, number: number): string =>
  `${COMMITS}${worker}/${number}`;
export const writerKey = (worker: string): string => `${WRITERS}${worker}`;
export const markKey = (name: string): string => `mark/${name}`;
export const groupKey = (topic: string, group: string): string => `group/${topic}/${group}`;
export const unsettledKey = (topic: string, group: string, partition: number): string =>
  `unsettled/${topic}/${group}/${partition}`;
