/**
 * Group commit: while one transaction is written, the next commits gather; then they go as one.
 *
 * Only the writer process has a committer, so heads and progress are kept in memory and are the truth.
 * Offsets are assigned when a transaction is built; memory moves on only when it is on disk. A failed
 * transaction fails all commits in it and changes nothing.
 */
import { type Clock, MillraceError, messageOf } from '../../base/index.ts';
import type { Mark } from '../log.ts';
import { Progress } from '../progress.ts';
import type { Topic } from '../topic.ts';
import { HEADER_BYTES } from './envelope.ts';
import type { Moment } from './history.ts';
import { type KeyChange, KeyWriter } from './keys/keyWriter.ts';
import type { Schemas } from './schemas.ts';
import type { Head, LogStore, Writes } from './store.ts';

/** An encoded record that waits for its offset. */
export interface Append {
  readonly topic: Topic<unknown>;
  readonly body: Buffer;
  /** The names by which the record is found. */
  readonly hashes: readonly number[];
}

export interface Settle {
  readonly topic: string;
  readonly group: string;
  readonly offset: number;
}

export interface Commit {
  readonly appends: readonly Append[];
  readonly settles: readonly Settle[];
  readonly marks: ReadonlyMap<string, Mark>;
  /** Groups to record although they have settled nothing yet. */
  readonly joins?: readonly Omit<Settle, 'offset'>[];
  /** Called once it is on disk, before any promise or listener learns of it. */
  committed(): void;
}

const NOTHING: Commit = { appends: [], settles: [], marks: new Map(), committed: () => undefined };

export interface CommitterOptions {
  readonly clock: Clock;
  readonly commitMs: number;
  /** Whether to write an index by key. */
  readonly index: boolean;
  /** Reads the names of a record that is in the log. */
  readonly hashesAt: HashesAt;
}

type HashesAt = (topic: Topic<unknown>, offset: number) => readonly number[];

interface Waiting extends Commit {
  resolve(): void;
  reject(error: unknown): void;
}

/** What one transaction changes in memory once it is on disk. */
interface Change {
  readonly heads: Map<string, Head>;
  readonly progress: Map<string, Progress>;
  readonly schemas: Map<string, readonly unknown[]>;
  readonly keys: KeyChange;
  atMs: number;
}

/** Limit of commits in one transaction: bounds its size and how long the first one waits. */
const COMMITS_MAX = 512;

const groupKey = (topic: string, group: string): string => JSON.stringify([topic, group]);

export class Committer {
  readonly #store: LogStore;
  readonly #schemas: Schemas;
  readonly #clock: Clock;
  readonly #commitMs: number;
  readonly #heads: Map<string, Head>;
  readonly #progress = new Map<string, Progress>();
  readonly #waiting: Waiting[] = [];
  readonly #keys: KeyWriter;
  readonly #index: boolean;
  readonly #hashesAt: HashesAt;
  readonly #listeners = new Set<() => void>();
  #lastAtMs = 0;
  /** Number of the next transaction in the history. */
  #number: number;
  #running: Promise<void> | null = null;

  constructor(store: LogStore, schemas: Schemas, options: CommitterOptions) {
    const { clock, commitMs, hashesAt } = options;
    this.#store = store;
    this.#index = options.index;
    this.#keys = new KeyWriter(store);
    this.#hashesAt = hashesAt;
    this.#schemas = schemas;
    this.#clock = clock;
    this.#commitMs = commitMs;
    this.#heads = new Map(store.heads());
    this.#number = store.historyEnd();
    for (const [topic, { end }] of this.#heads) {
      this.#lastAtMs = Math.max(this.#lastAtMs, store.record(topic, end - 1)?.atMs ?? 0);
    }
  }

  end(topic: string): number {
    return this.#heads.get(topic)?.end ?? 0;
  }

  progress(topic: string, group: string): Progress {
    const key = groupKey(topic, group);
    const known = this.#progress.get(key) ?? new Progress(this.#store.progress(topic, group));
    this.#progress.set(key, known);
    return known;
  }

  /** `wake` is called after every commit until the returned function is. */
  onCommit(wake: () => void): () => void {
    this.#listeners.add(wake);
    return () => this.#listeners.delete(wake);
  }

  commit(commit: Commit): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...commit, resolve, reject });
      this.#running ??= this.#drain();
    });
  }

  get busy(): boolean {
    return this.#running !== null;
  }

  /** Makes the group known, so that its lag is reported before it has settled anything. */
  async join(topic: string, group: string): Promise<void> {
    if (this.#store.progress(topic, group) !== undefined) return;
    await this.commit({ ...NOTHING, joins: [{ topic, group }] });
  }

  /** Resolves when everything that waits now has been written or refused. */
  settled(): Promise<void> {
    return this.busy ? this.commit(NOTHING).catch(() => undefined) : Promise.resolve();
  }

  async #drain(): Promise<void> {
    await (this.#commitMs > 0
      ? new Promise((done) => setTimeout(done, this.#commitMs))
      : Promise.resolve());
    while (this.#waiting.length > 0) await this.#flush(this.#waiting.splice(0, COMMITS_MAX));
    this.#running = null;
  }

  async #flush(commits: readonly Waiting[]): Promise<void> {
    const change: Change = {
      heads: new Map(),
      progress: new Map(),
      schemas: new Map(),
      keys: this.#keys.change(),
      atMs: Math.max(this.#lastAtMs, this.#clock.now()),
    };
    try {
      await this.#store.write((writes) => this.#build(commits, change, writes));
    } catch (cause) {
      const error = new MillraceError(
        'LOG_WRITE',
        `the log could not be written (${messageOf(cause)}); this commit was discarded, earlier ones are safe; free disk space or repair the disk, then start the run again`,
        { cause },
      );
      for (const commit of commits) commit.reject(cause instanceof MillraceError ? cause : error);
      return;
    }
    this.#apply(change);
    for (const commit of commits) commit.committed();
    for (const commit of commits) commit.resolve();
    for (const wake of [...this.#listeners]) wake();
  }

  #build(commits: readonly Commit[], change: Change, writes: Writes): void {
    for (const commit of commits) {
      for (const append of commit.appends) this.#append(append, change, writes);
      for (const { topic, group } of commit.joins ?? []) this.#changing(topic, group, change);
      for (const { topic, group, offset } of commit.settles) {
        this.#changing(topic, group, change).settle(offset);
      }
      for (const [name, value] of commit.marks) writes.putMark(name, value);
    }
    change.keys.write(writes);
    for (const [topic, head] of change.heads) writes.putHead(topic, head);
    for (const [topic, list] of change.schemas) writes.putSchemas(topic, list);
    for (const [key, progress] of change.progress) {
      const [topic, group] = JSON.parse(key) as [string, string];
      writes.putProgress(topic, group, progress.toState());
    }
    writes.putMoment(this.#number, this.#momentOf(commits, change));
  }

  #momentOf(commits: readonly Commit[], { heads, progress }: Change): Moment {
    const settled = new Map<string, number[]>();
    for (const key of progress.keys()) settled.set(key, []);
    for (const { topic, group, offset } of commits.flatMap((commit) => commit.settles)) {
      settled.get(groupKey(topic, group))!.push(offset);
    }
    return {
      appended: Object.fromEntries(
        [...heads].map(([topic, { end }]) => [topic, [this.end(topic), end] as const]),
      ),
      settled: [...settled].map(([key, offsets]) => {
        const [topic, group] = JSON.parse(key) as [string, string];
        return [topic, group, offsets];
      }),
      marks: Object.fromEntries(commits.flatMap((commit) => [...commit.marks])),
    };
  }

  /** The group's progress as this transaction will leave it. */
  #changing(topic: string, group: string, change: Change): Progress {
    const key = groupKey(topic, group);
    const progress = change.progress.get(key) ?? this.progress(topic, group).copy();
    change.progress.set(key, progress);
    return progress;
  }

  #append({ topic, body, hashes }: Append, change: Change, writes: Writes): void {
    const { name } = topic;
    const head = change.heads.get(name) ?? this.#heads.get(name) ?? { end: 0, bytes: 0 };
    const { number, added } = this.#schemas.numberOf(topic);
    if (added !== undefined) change.schemas.set(name, added);
    writes.put(name, head.end, { atMs: change.atMs, schema: number, body });
    if (this.#index) {
      const named = { topic: name, offset: head.end, hashes };
      change.keys.add(writes, named, (offset) => this.#hashesAt(topic, offset));
    }
    change.heads.set(name, { end: head.end + 1, bytes: head.bytes + HEADER_BYTES + body.length });
  }

  #apply(change: Change): void {
    this.#lastAtMs = change.atMs;
    this.#number += 1;
    this.#keys.apply(change.keys);
    for (const [topic, head] of change.heads) this.#heads.set(topic, head);
    for (const [topic, list] of change.schemas) this.#schemas.committed(topic, list);
    for (const [key, progress] of change.progress) this.#progress.set(key, progress);
  }
}
