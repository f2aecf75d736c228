/**
 * Group commit over Kafka: while one transaction is on its way, the next commits gather; then they go as one.
 *
 * Commits fail separately: what cannot be encoded or registered fails alone, before the transaction.
 * Originals that have moved to another process meanwhile are left to it, with everything derived from them; a
 * commit that also writes on its own account fails then (`STALE`), because it must not be split.
 */
import { type Clock, MillraceError } from '../../base/index.ts';
import { seal } from '../foreign/wireFormat.ts';
import type { Mark } from '../log.ts';
import type { Topic } from '../topic.ts';
import { type KafkaTopics, partitionOf } from './kafkaTopics.ts';
import { reasonOf } from './problems.ts';
import type { Message, Writes } from './records.ts';
import type { Schemas } from './registry.ts';
import { offsetsOf, type Settle, settledBy } from './settles.ts';
import {
  type CommitNote,
  type Count,
  groupKey,
  markKey,
  partitionsKey,
  type StateTopic,
} from './stateTopic.ts';
import { GroupMoved, type Transaction, type Transactor } from './transactor.ts';

/** An encoded record, not yet sealed with its schema's id. */
export interface Append {
  readonly topic: Topic<unknown>;
  readonly key: string;
  readonly body: Buffer;
}

/** Originals and what was derived from them: they go together. */
export interface Family {
  readonly appends: readonly Append[];
  readonly settles: readonly Settle[];
}

export interface Commit {
  /** What it writes independently of any original. */
  readonly appends: readonly Append[];
  readonly marks: ReadonlyMap<string, Mark>;
  readonly families: readonly Family[];
  /** Entries for the state topic besides marks. */
  readonly entries?: ReadonlyMap<string, unknown>;
  readonly joins?: readonly { readonly topic: string; readonly group: string }[];
  /** Called once it is committed, before any promise or listener learns of it. */
  committed(): void;
}

interface Waiting extends Commit {
  /** Everything it writes, and its size. */
  readonly all: readonly Append[];
  readonly bytes: number;
  resolve(): void;
  reject(error: unknown): void;
}

const CONTRACT = Buffer.from('contract');
const COMMITS_MAX = 512;
/** One transaction takes commits until it is this large. */
const BYTES_MAX = 8 * 2 ** 20;

const NOTHING: Commit = {
  appends: [],
  marks: new Map(),
  families: [],
  committed: () => undefined,
};

export interface CommitterParts {
  readonly transactor: Transactor;
  readonly topics: KafkaTopics;
  readonly schemas: Schemas;
  readonly state: StateTopic;
  readonly clock: Clock;
}

export class Committer {
  readonly #parts: CommitterParts;
  readonly #waiting: Waiting[] = [];
  /** What the next transaction waits for. */
  readonly #before = new Set<Promise<unknown>>();
  /** First offset after what this process has written, by partition. */
  readonly #ends = new Map<string, number>();
  readonly #joined = new Set<string>();
  #running: Promise<void> | null = null;
  #atMs = 0;
  #dead: unknown = null;

  constructor(parts: CommitterParts) {
    this.#parts = parts;
  }

  commit(commit: Commit): Promise<void> {
    return new Promise((resolve, reject) => {
      const all = appendsOf(commit);
      const bytes = all.reduce((sum, { body }) => sum + body.length, 0);
      this.#waiting.push({ ...commit, all, bytes, resolve, reject });
      this.#running ??= this.#drain();
    });
  }

  /** The next transaction waits for this. */
  after(work: Promise<unknown>): void {
    const settled = work.catch(() => undefined).finally(() => this.#before.delete(settled));
    this.#before.add(settled);
  }

  get busy(): boolean {
    return this.#running !== null;
  }

  /** Resolves when everything that waits now has been written or refused. */
  settled(): Promise<void> {
    return this.busy ? this.commit(NOTHING).catch(() => undefined) : Promise.resolve();
  }

  /** Makes the group known, so that its lag is reported before it has settled anything. */
  async join(topic: string, group: string): Promise<void> {
    const key = groupKey(topic, group);
    if (this.#joined.has(key) || this.#parts.state.get(key) !== undefined) return;
    this.#joined.add(key);
    await this.commit({ ...NOTHING, joins: [{ topic, group }] });
  }

  /** Writes an entry of the state topic. */
  note(key: string, value: unknown): Promise<void> {
    return this.commit({ ...NOTHING, entries: new Map([[key, value]]) });
  }

  /** First offset after what this process has written there: a reader waits until that can be read. */
  writtenEnd(topic: string, partition: number): number {
    return this.#ends.get(`${topic}/${partition}`) ?? 0;
  }

  async #drain(): Promise<void> {
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      while (this.#before.size > 0) await Promise.all(this.#before);
      await this.#flush(this.#take());
    }
    this.#running = null;
  }

  #take(): readonly Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const commit of this.#waiting) {
      bytes += commit.bytes;
      if (count > 0 && (bytes > BYTES_MAX || count >= COMMITS_MAX)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #flush(taken: readonly Waiting[]): Promise<void> {
    if (this.#dead !== null) return reject(taken, this.#dead);
    let commits = await this.#registered(taken);
    while (commits.length > 0) {
      commits = withoutLost(commits);
      if (commits.length === 0) return;
      const settles = commits.flatMap(({ families }) =>
        families.flatMap((family) => family.settles),
      );
      try {
        await this.#write(commits, settles);
      } catch (error) {
        if (error instanceof GroupMoved) {
          await caughtUp(settles, error);
          continue;
        }
        const failure = writeError(error);
        if (failure.code === 'FENCED') this.#dead = failure;
        return reject(commits, failure);
      }
      for (const { owned, offset } of settles) owned.progress.settle(offset);
      for (const commit of commits) commit.committed();
      for (const commit of commits) commit.resolve();
      return;
    }
  }

  /** Those whose topics exist and whose schemas have ids; the others fail with the reason. */
  async #registered(commits: readonly Waiting[]): Promise<readonly Waiting[]> {
    const failures = new Map<Topic<unknown>, unknown>();
    const met = new Set<Topic<unknown>>();
    for (const { all } of commits) for (const { topic } of all) met.add(topic);
    await Promise.all(
      [...met].map((topic) =>
        this.#contractOf(topic).catch((error: unknown) => failures.set(topic, error)),
      ),
    );
    if (failures.size === 0) return commits;
    return commits.filter((commit) => {
      const failed = commit.all.find(({ topic }) => failures.has(topic));
      if (failed !== undefined) commit.reject(failures.get(failed.topic));
      return failed === undefined;
    });
  }

  async #contractOf(topic: Topic<unknown>): Promise<Contract> {
    const { topics, schemas } = this.#parts;
    const [partitions, schemaId] = await Promise.all([
      topics.ensure(topic.name),
      schemas.idOf(topic),
    ]);
    const contract = Buffer.from(`${topic.name}/${topic.version}`);
    const headers = new Map([[CONTRACT, contract]]);
    return { name: topics.nameOf(topic.name), partitions, schemaId, headers };
  }

  async #write(commits: readonly Waiting[], settles: readonly Settle[]): Promise<void> {
    const { transactor, clock } = this.#parts;
    this.#atMs = Math.max(this.#atMs, clock.now());
    const { writes, counts, appended, partitions } = await this.#sealed(
      commits.flatMap(({ all }) => all),
    );
    const entries = new Map<string, unknown>();
    for (const [topic, count] of partitions) {
      const key = partitionsKey(topic);
      if (this.#parts.state.get(key) === undefined) entries.set(key, count);
    }
    for (const { marks, joins, entries: noted = [] } of commits) {
      for (const [key, value] of noted) entries.set(key, value);
      for (const [name, value] of marks) entries.set(markKey(name), value);
      for (const { topic, group } of joins ?? []) entries.set(groupKey(topic, group), true);
    }
    const transaction: Transaction = {
      writes,
      offsets: offsetsOf(settles, entries),
      state: entries,
      counts,
      note: { appended, ...noteOf(commits, settles) },
      atMs: this.#atMs,
    };
    const empty = transaction.writes.length + transaction.offsets.length + entries.size === 0;
    if (empty) return;
    const written = await transactor.run(transaction);
    for (const { topic, partition, messages } of transaction.writes) {
      const at = `${topic}/${partition}`;
      // If the broker did not say, at least this many more.
      const end =
        (written.get(at) ?? -1) + 1 || this.writtenEnd(topic, partition) + messages.length;
      this.#ends.set(at, Math.max(this.writtenEnd(topic, partition), end));
    }
  }

  /** The records as they go to the broker, and what they add to each topic. */
  async #sealed(appends: readonly Append[]): Promise<Sealed> {
    const contracts = new Map<Topic<unknown>, Contract>();
    const timestamp = BigInt(this.#atMs);
    const writes = new Map<string, Writes>();
    const counts = new Map<string, { records: number; bytes: number }>();
    const appended: Record<string, number[]> = {};
    const used = new Map<string, number>();
    for (const { topic, key, body } of appends) {
      const contract = contracts.get(topic) ?? (await this.#contractOf(topic));
      contracts.set(topic, contract);
      const { name, partitions, schemaId, headers } = contract;
      const partition = partitionOf(key, partitions);
      used.set(topic.name, partitions);
      const at = `${name}/${partition}`;
      const { messages } = writes.get(at) ?? { messages: [] as Message[] };
      if (messages.length === 0) writes.set(at, { topic: name, partition, messages });
      const value = seal(schemaId, body);
      const bytes = Buffer.from(key);
      messages.push({ topic: name, partition, key: bytes, value, headers, timestamp });
      const count = counts.get(topic.name) ?? { records: 0, bytes: 0 };
      counts.set(topic.name, count);
      count.records += 1;
      count.bytes += bytes.length + body.length;
      appended[topic.name] ??= [];
      const turns = appended[topic.name]!;
      if (turns.at(-2) === partition) turns[turns.length - 1]! += 1;
      else turns.push(partition, 1);
    }
    return { writes: [...writes.values()], counts, appended, partitions: used };
  }
}

interface Sealed {
  readonly writes: readonly Writes[];
  readonly counts: ReadonlyMap<string, Count>;
  readonly appended: CommitNote['appended'];
  /** By topic, how many it has. */
  readonly partitions: ReadonlyMap<string, number>;
}

/** How records of a topic are written. */
interface Contract {
  /** The broker's name of the topic. */
  readonly name: string;
  readonly partitions: number;
  readonly schemaId: number;
  readonly headers: Map<Buffer, Buffer>;
}

function noteOf(
  commits: readonly Commit[],
  settles: readonly Settle[],
): Omit<CommitNote, 'appended'> {
  const joined = commits.flatMap(({ joins = [] }) =>
    joins.map(({ topic, group }) => [topic, group, 0, []] as const),
  );
  const marks = Object.fromEntries(commits.flatMap((commit) => [...commit.marks]));
  return { settled: [...joined, ...settledBy(settles)], marks };
}

function appendsOf({ appends, families }: Commit): readonly Append[] {
  return families.length === 0
    ? appends
    : [...appends, ...families.flatMap((family) => family.appends)];
}

function reject(commits: readonly Waiting[], error: unknown): void {
  for (const commit of commits) commit.reject(error);
}

/** Resolves once the refused member is in its group's newest generation, or has left it. */
async function caughtUp(settles: readonly Settle[], { member }: GroupMoved): Promise<void> {
  const [groupId, generation] = member;
  const memberships = new Set(settles.map(({ owned }) => owned.membership));
  for (const membership of memberships) {
    if (membership.groupId === groupId) await membership.moved(generation);
  }
}

function writeError(cause: unknown): MillraceError {
  if (cause instanceof MillraceError) return cause;
  return new MillraceError(
    'LOG_WRITE',
    `the broker rejected a commit, and none of it was kept: ${reasonOf(cause)}`,
    { cause },
  );
}

/** Leaves out what another process now owns; the rest stays as it was. */
function withoutLost(commits: readonly Waiting[]): readonly Waiting[] {
  const isLost = ({ settles }: Family): boolean => settles.some(({ owned }) => owned.lost);
  return commits.flatMap((commit) => {
    const lost = commit.families.find(isLost);
    if (lost === undefined) return [commit];
    if (commit.appends.length + commit.marks.size > 0) {
      const { owned, offset } = lost.settles.find((settle) => settle.owned.lost)!;
      commit.reject(
        new MillraceError(
          'STALE',
          `${owned.topic}@${owned.partition}/${offset} now belongs to another process; this commit was discarded`,
        ),
      );
      return [];
    }
    const families = commit.families.filter((family) => !isLost(family));
    if (families.length > 0) {
      const left = { ...commit, families };
      return [{ ...left, all: appendsOf(left) }];
    }
    commit.committed();
    commit.resolve();
    return [];
  });
}
