/**
 * A run on Kafka as a log in a folder: what looks back at a run (replay, rewind, diff) reads this copy.
 *
 * Every commit has left a note (`CommitNote`) in the run's state topic: how many records it wrote where, what
 * it settled, its marks. The notes are in an order in which causes come before effects, whichever worker
 * wrote them, and in each partition the records of a producer are in the order of its commits. So the copy is
 * written commit by commit, as one process with a log in its folder would have written it: one partition a
 * topic, offsets without gaps, the whole history. References to records are updated to their new places. The
 * run is only read, even while it is running; notes and offsets are held in memory, records are not.
 */

import { MillraceError } from '../../base/index.ts';
import { type DeadLetter, deadLetters } from '../deadLetters.ts';
import { retriedLetter, retriedMark } from '../deliveries/deadLetter.ts';
import type { Envelope } from '../embedded/envelope.ts';
import type { Moment } from '../embedded/history.ts';
import { Store } from '../embedded/store.ts';
import { HttpRegistry } from '../foreign/httpRegistry.ts';
import { type Environment, kafkaSettings } from '../foreign/kafkaUrl.ts';
import { type SchemaRegistry, unseal } from '../foreign/wireFormat.ts';
import type { Mark } from '../log.ts';
import type { Position } from '../position.ts';
import { Progress } from '../progress.ts';
import { withReferences } from '../replay/references.ts';
import type { Topic } from '../topic.ts';
import { RecordPages } from './archive/recordPages.ts';
import { CommittedRecords, type CommittedRecordsParts } from './committedRecords.ts';
import { KafkaTopics, partitionOf } from './kafkaTopics.ts';
import { Link } from './link.ts';
import { LogRegistry } from './logRegistry.ts';
import { lostTopics, mustBeItsCluster, mustBeWhole } from './lostTopics.ts';
import { pageOf, type Raw, stableEnd } from './pages.ts';
import {
  COMMITS,
  type CommitNote,
  STATE_TOPIC,
  StateTopic,
  WRITERS,
  type WriterState,
} from './stateTopic.ts';

export interface CopyOptions {
  /** As in `kafkaUrl.ts`. */
  readonly url: string;
  readonly run: string;
  /** The topics of the run, as far as they are known: their references are moved. */
  readonly topics: readonly Topic<unknown>[];
  /** Where the copy is made; there must be no log. */
  readonly folder: string;
  /** What the names of archived segments nearby are relative to: the log's folder in the run's folder. */
  readonly logFolder?: string;
  /** Passwords and file names that the URL leaves out. */
  readonly env?: Environment;
  /** The cluster that holds the run's records, if known. */
  readonly cluster?: string;
  /** Called when the broker has not answered for long, and when it answers again. */
  readonly notice?: (line: string) => void;
}

/** What a copy does not show. */
export interface Copied {
  /**
   * How far a group read ahead of its first unsettled record, in records: over several partitions it may be
   * more than one reader of a single partition may have unsettled.
   */
  readonly ahead: (topic: string, group: string) => number;
}

const PATIENCE_MS = 60_000;
const OPEN_MS = 15_000;
const PAGE = { waitMs: 0, bytesMax: 4 * 2 ** 20 };
/** Limits of one transaction of the copy. */
const CHUNK = { bytes: 8 * 2 ** 20, commits: 512 };

/**
 * Fails with `KAFKA`, `NO_LOG`, `OTHER_CLUSTER`, `TOPIC_GONE`, or `NO_HISTORY` if commits have left no notes.
 */
export async function copyRun(options: CopyOptions): Promise<Copied> {
  const { url, run, folder, env = {}, notice = () => undefined } = options;
  const settings = kafkaSettings(url, env);
  const closing = new AbortController();
  const link = new Link({
    settings,
    notice,
    clientId: `millrace.${run}.copy`,
    patienceMs: PATIENCE_MS,
    closing: closing.signal,
  });
  const topics = new KafkaTopics(link, run, options.topics);
  const registry =
    settings.registry === null
      ? new LogRegistry(link, topics)
      : new HttpRegistry(settings.registry, run);
  let store: Store | null = null;
  try {
    await link.reach(OPEN_MS);
    mustBeItsCluster(run, options.cluster, link.clusterId);
    const notes = await notesOf(link, topics, run);
    const state = new StateTopic(link, topics);
    await state.refresh();
    mustBeWhole(run, await lostTopics(link, topics, state));
    store = new Store(folder, 'write');
    const pages = new RecordPages(topics, state, options.logFolder ?? '');
    return await new Copy({ link, topics, known: options.topics, pages, registry, store }).of(
      notes,
    );
  } finally {
    closing.abort();
    await link.close();
    await store?.close();
  }
}

/** The undecoded note of a commit, and its worker. */
type Note = Pick<Raw, 'producerId' | 'value'>;

/** All notes up to now, in order. */
async function notesOf(link: Link, topics: KafkaTopics, run: string): Promise<readonly Note[]> {
  if ((await topics.partitions(STATE_TOPIC)) === 0) {
    throw new MillraceError('NO_LOG', `there is no run ${run} on this Kafka; check the name`, {
      context: { run },
    });
  }
  const name = topics.nameOf(STATE_TOPIC);
  const end = await stableEnd(link, name, 0);
  const notes: Note[] = [];
  /** How many records each worker has written, and for how many there are notes. */
  const written = new Map<string, number>();
  let noted = 0;
  for (let next = 0; next < end; ) {
    const page = await pageOf(link, name, 0, next, PAGE);
    for (const { key, value, offset, producerId } of page.records) {
      if (offset >= end) continue;
      if (key.startsWith(COMMITS)) {
        notes.push({ value, producerId });
        noted += recordsIn(read<CommitNote>(value));
      } else if (key.startsWith(WRITERS)) {
        const counts = Object.values(read<WriterState>(value).counts);
        written.set(
          key,
          counts.reduce((sum, { records }) => sum + records, 0),
        );
      }
    }
    next = page.next;
  }
  const all = [...written.values()].reduce((sum, records) => sum + records, 0);
  if (noted === all) return notes;
  throw new MillraceError(
    'NO_HISTORY',
    `only ${noted} of the ${all} records of run ${run} on Kafka have a history; the others were written by a version of millrace that kept none: to have one, start the run again from the beginning`,
    { context: { run } },
  );
}

const read = <T>(value: Buffer): T => JSON.parse(value.toString('utf8')) as T;

function recordsIn({ appended }: CommitNote): number {
  let records = 0;
  for (const turns of Object.values(appended)) {
    for (let i = 1; i < turns.length; i += 2) records += turns[i]!;
  }
  return records;
}

interface CopyParts extends CommittedRecordsParts {
  readonly registry: SchemaRegistry;
  /** The topics of the run, as far as they are known. */
  readonly known: readonly Topic<unknown>[];
  readonly store: Store;
}

/** A topic as it is in the copy. */
interface Target {
  readonly topic: Topic<unknown> | null;
  readonly schemas: unknown[];
  end: number;
  bytes: number;
}

class Copy {
  readonly #parts: CopyParts;
  readonly #committed = new Map<string, CommittedRecords>();
  readonly #targets = new Map<string, Target>();
  /** By their ids on Kafka. */
  readonly #schemas = new Map<number, unknown>();
  /** By topic and partition: offsets there, and in the copy. */
  readonly #places = new Map<string, Map<number, number>>();
  /** By topic, then group. */
  readonly #progress = new Map<string, Map<string, Progress>>();
  readonly #ahead = new Map<string, number>();
  readonly #marks = new Map<string, Mark>();
  /** What the next transaction of the copy will contain. */
  #records: (readonly [topic: string, offset: number, envelope: Envelope])[] = [];
  #moments: Moment[] = [];
  #bytes = 0;
  /** Moments already on disk. */
  #written = 0;

  constructor(parts: CopyParts) {
    this.#parts = parts;
  }

  async of(notes: readonly Note[]): Promise<Copied> {
    for (const { value, producerId } of notes) {
      await this.#repeat(read<CommitNote>(value), producerId);
      if (this.#bytes > CHUNK.bytes || this.#moments.length >= CHUNK.commits) await this.#flush();
    }
    await this.#flush();
    return { ahead: (topic, group) => this.#ahead.get(placeOf(topic, group)) ?? 0 };
  }

  /** One commit, as it is in the copy. */
  async #repeat({ appended, settled, marks }: CommitNote, producerId: bigint): Promise<void> {
    const appends: Record<string, [number, number]> = {};
    for (const [topic, turns] of Object.entries(appended)) {
      const from = this.#target(topic).end;
      for (let i = 0; i < turns.length; i += 2) {
        const committed = this.#committedOf(topic, turns[i]!);
        for (let left = turns[i + 1]!; left > 0; left--) {
          await this.#append(topic, await committed.take(producerId));
        }
      }
      appends[topic] = [from, this.#target(topic).end];
    }
    const marked = Object.entries(marks).map(
      ([name, value]) => [this.#markOf(name), value] as const,
    );
    for (const [name, value] of marked) this.#marks.set(name, value);
    this.#moments.push({
      appended: appends,
      marks: Object.fromEntries(marked),
      settled: this.#settle(settled),
    });
  }

  async #append(topic: string, raw: Raw): Promise<void> {
    const target = this.#target(topic);
    const offset = target.end;
    const key = placeOf(topic, raw.partition);
    const places = this.#places.get(key) ?? new Map<number, number>();
    this.#places.set(key, places.set(raw.offset, offset));
    const envelope = await this.#envelope(topic, target, raw);
    this.#records.push([topic, offset, envelope]);
    target.end += 1;
    target.bytes += envelope.body.length;
    this.#bytes += envelope.body.length;
  }

  async #envelope(name: string, target: Target, raw: Raw): Promise<Envelope> {
    const sealed = unseal(raw.value);
    if (sealed === null) {
      const place = `${name}@${raw.partition}/${raw.offset}`;
      throw new MillraceError('DAMAGED', `${place} was changed after it was written`, {
        context: { place },
      });
    }
    const schema = await this.#schema(sealed.id);
    const { topic } = target;
    if (topic === null || !(topic.references !== undefined || name === deadLetters.name)) {
      return { atMs: raw.atMs, schema: numberIn(target, schema), body: sealed.body };
    }
    const value = await this.#moved(topic, topic.codec.reading(schema)(sealed.body));
    const number = numberIn(target, topic.codec.schema);
    return { atMs: raw.atMs, schema: number, body: topic.codec.encode(value) };
  }

  async #schema(id: number): Promise<unknown> {
    const schema = this.#schemas.get(id) ?? (await this.#parts.registry.byId(id));
    this.#schemas.set(id, schema);
    return schema;
  }

  /** The record with positions in the copy instead of those on Kafka. */
  async #moved(topic: Topic<unknown>, value: unknown): Promise<unknown> {
    if (topic.name !== deadLetters.name) {
      return withReferences(topic, value, (to, position) => {
        const offset = this.#offsetOf(to, position);
        return offset === undefined ? position : { partition: 0, offset };
      });
    }
    const letter = value as DeadLetter;
    const count = await this.#parts.topics.partitions(letter.origin);
    if (count === 0) return letter; // it is about a row of a file
    const partition = partitionOf(letter.key, count);
    const place = this.#offsetOf(letter.origin, { partition, offset: letter.place });
    return { ...letter, place: place ?? letter.place };
  }

  /** A mark that names a dead letter names it by its place. */
  #markOf(name: string): string {
    const offset = retriedLetter(name);
    if (offset === null) return name;
    const moved = this.#offsetOf(deadLetters.name, { partition: 0, offset });
    return moved === undefined ? name : retriedMark(moved);
  }

  #settle(settled: CommitNote['settled']): Moment['settled'] {
    const before = new Map<Progress, number>();
    const moved: [topic: string, group: string, offsets: number[]][] = [];
    for (const [topic, group, partition, offsets] of settled) {
      const progress = this.#progressOf(topic, group);
      const here = offsets.flatMap((offset) => this.#offsetOf(topic, { partition, offset }) ?? []);
      const done = before.get(progress) ?? progress.settled;
      before.set(progress, done);
      const key = placeOf(topic, group);
      const farthest = here.reduce((most, offset) => Math.max(most, offset + 1 - done), 0);
      this.#ahead.set(key, Math.max(this.#ahead.get(key) ?? 0, farthest));
      for (const offset of here) progress.settle(offset);
      moved.push([topic, group, here]);
    }
    return moved;
  }

  async #flush(): Promise<void> {
    await this.#parts.store.write((writes) => {
      for (const [topic, offset, envelope] of this.#records) writes.put(topic, offset, envelope);
      for (const [topic, { end, bytes, schemas }] of this.#targets) {
        writes.putHead(topic, { end, bytes });
        writes.putSchemas(topic, schemas);
      }
      for (const [topic, groups] of this.#progress) {
        for (const [group, progress] of groups) {
          writes.putProgress(topic, group, progress.toState());
        }
      }
      for (const [name, value] of this.#marks) writes.putMark(name, value);
      for (const [i, moment] of this.#moments.entries()) {
        writes.putMoment(this.#written + i, moment);
      }
    });
    this.#written += this.#moments.length;
    this.#records = [];
    this.#moments = [];
    this.#bytes = 0;
  }

  #committedOf(topic: string, partition: number): CommittedRecords {
    const key = placeOf(topic, partition);
    const committed =
      this.#committed.get(key) ?? new CommittedRecords(this.#parts, topic, partition);
    this.#committed.set(key, committed);
    return committed;
  }

  #target(name: string): Target {
    const known = this.#targets.get(name);
    if (known !== undefined) return known;
    const topic = this.#parts.known.find((each) => each.name === name) ?? null;
    const target: Target = { topic, schemas: [], end: 0, bytes: 0 };
    this.#targets.set(name, target);
    return target;
  }

  #progressOf(topic: string, group: string): Progress {
    const groups = this.#progress.get(topic) ?? new Map<string, Progress>();
    const progress = groups.get(group) ?? new Progress();
    this.#progress.set(topic, groups.set(group, progress));
    return progress;
  }

  /** Undefined if no commit of the run has written that record. */
  #offsetOf(topic: string, { partition, offset }: Position): number | undefined {
    return this.#places.get(placeOf(topic, partition))?.get(offset);
  }
}

const placeOf = (topic: string, of: string | number): string => `${topic}/${of}`;

/** The number of a schema in the topic's list; a new schema is added to it. */
function numberIn({ schemas }: Target, schema: unknown): number {
  const same = schemas.indexOf(schema);
  if (same >= 0) return same;
  const text = JSON.stringify(schema);
  const known = schemas.findIndex((each) => JSON.stringify(each) === text);
  return known >= 0 ? known : schemas.push(schema) - 1;
}
