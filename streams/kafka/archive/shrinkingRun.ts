/**
 * A run on Kafka as retention sees it: a segment is written, then an entry of the state topic says so in a
 * transaction, then the broker deletes its records.
 *
 * If the process is killed before the entry, the segment is written again; if after it, its records are in
 * both places, are read from the archive and are deleted when retention next begins. No transaction covers
 * file, entry and deletion, and none has to.
 */
import { deleteRecordsV2 } from '@platformatic/kafka';
import { MillraceError } from '../../../base/index.ts';
import type { Candidate, Shrinking } from '../../archive/retain.ts';
import { type Folders, writeSegment } from '../../archive/segments.ts';
import type { Committer } from '../committer.ts';
import { groupIdOf } from '../groupFeed.ts';
import type { KafkaTopics } from '../kafkaTopics.ts';
import type { Link } from '../link.ts';
import { beginning, type Raw, stableEnd } from '../pages.ts';
import { lowOf } from '../partitionProgress.ts';
import { kindOf } from '../problems.ts';
import { countedBytes } from '../registry.ts';
import { committedProgress } from '../settles.ts';
import { groupKey, type StateTopic } from '../stateTopic.ts';
import { archiveKey, type KafkaSegment } from './archived.ts';
import { packed } from './record.ts';
import type { RecordPages } from './recordPages.ts';

export interface ShrinkingParts {
  readonly run: string;
  /** Names of the topics that may shrink. */
  readonly large: readonly string[];
  readonly link: Link;
  readonly topics: KafkaTopics;
  readonly state: StateTopic;
  readonly pages: RecordPages;
  readonly committer: Committer;
}

/** Where the next segment to archive is, and what it contains. */
interface Next
  extends Candidate,
    Pick<KafkaSegment, 'from' | 'to' | 'records' | 'bytes' | 'oldestMs'> {
  readonly topic: string;
  readonly partition: number;
}

const PAGE = { waitMs: 0, bytesMax: 4 * 2 ** 20 };
const DELETING_MS = 30_000;

export class ShrinkingRun implements Shrinking<Next> {
  readonly #parts: ShrinkingParts;
  /** By topic and partition: what was found last, which stays valid. */
  readonly #found = new Map<string, Next>();

  #folders: Folders = { logFolder: '', archive: '' };

  constructor(parts: ShrinkingParts) {
    this.#parts = parts;
  }

  /** From now on, segments go there. Has the broker delete what a killed process had archived. */
  async begin(folders: Folders): Promise<void> {
    this.#folders = folders;
    const { link, topics, state } = this.#parts;
    await state.refresh();
    for (const [topic, partition] of await this.#partitions()) {
      const end = state.archived.end(topic, partition);
      if (end > (await beginning(link, topics.nameOf(topic), partition))) {
        await this.#letGo(topic, partition, end);
      }
    }
  }

  keptBytes(): number {
    const { archived } = this.#parts.state;
    const counts = this.#parts.state.counts();
    const kept = this.#parts.large.map(
      (topic) => (counts.get(topic)?.bytes ?? 0) - archived.count(topic).bytes,
    );
    return kept.reduce((sum, bytes) => sum + bytes, 0);
  }

  async candidates(records: number): Promise<readonly Next[]> {
    await this.#parts.state.refresh();
    const found: Next[] = [];
    const settled = new Map<string, readonly number[]>();
    for (const [topic, partition, count] of await this.#partitions()) {
      const ends = settled.get(topic) ?? (await this.#settled(topic, count));
      settled.set(topic, ends);
      const next = await this.#nextOf(topic, partition, ends[partition]!, records);
      if (next !== null) found.push(next);
    }
    return found;
  }

  async move({ topic, partition, ...about }: Next): Promise<void> {
    const { from, to } = about;
    const raws: Raw[] = [];
    await this.#each(topic, partition, from, to, (raw) => raws.push(raw));
    const stretch = { of: `${topic}-${partition}`, from, to };
    const written = await writeSegment(this.#folders, stretch, raws.map(packed));
    const segment: KafkaSegment = { ...written, ...about };
    await this.#parts.committer.note(archiveKey(topic, partition, segment), segment);
    await this.#letGo(topic, partition, to);
  }

  async #partitions(): Promise<readonly (readonly [topic: string, of: number, count: number])[]> {
    const { topics } = this.#parts;
    const all = this.#parts.large.map(async (topic) => {
      const count = await topics.partitions(topic);
      return Array.from({ length: count }, (_, partition) => [topic, partition, count] as const);
    });
    return (await Promise.all(all)).flat();
  }

  /**
   * By partition, the first offset that some group has not settled; without groups, the first that is not
   * committed.
   */
  async #settled(topic: string, count: number): Promise<readonly number[]> {
    const { run, link, topics, state } = this.#parts;
    const name = topics.nameOf(topic);
    const partitions = [...Array(count).keys()];
    const ends = await Promise.all(partitions.map((each) => stableEnd(link, name, each)));
    for (const [group] of state.under<true>(groupKey(topic, ''))) {
      const groupId = groupIdOf(run, group, topic);
      const place = { topic, group, name, groupId, partitions };
      for (const [partition, progress] of await committedProgress(link, state, place)) {
        ends[partition] = Math.min(ends[partition]!, lowOf(progress));
      }
    }
    return ends;
  }

  /**
   * The next segment of a partition, provided that as many offsets stay after it as it has records: a live
   * view reads those.
   */
  async #nextOf(
    topic: string,
    partition: number,
    settled: number,
    records: number,
  ): Promise<Next | null> {
    const from = this.#parts.state.archived.end(topic, partition);
    if (from + 2 * records > settled) return null;
    const place = `${topic}/${partition}`;
    const known = this.#found.get(place);
    const next =
      known?.from === from && known.records === records
        ? known
        : await this.#find(topic, partition, from, settled, records);
    if (next !== null) this.#found.set(place, next);
    return next === null || next.to + records > settled ? null : next;
  }

  async #find(
    topic: string,
    partition: number,
    from: number,
    end: number,
    records: number,
  ): Promise<Next | null> {
    let [left, to, bytes] = [records, from, 0];
    let [oldestMs, newestMs] = [Number.POSITIVE_INFINITY, 0];
    await this.#each(topic, partition, from, end, (raw) => {
      bytes += countedBytes(raw);
      oldestMs = Math.min(oldestMs, raw.atMs);
      newestMs = Math.max(newestMs, raw.atMs);
      to = raw.offset + 1;
      left -= 1;
      return left > 0;
    });
    return left > 0 ? null : { topic, partition, from, to, records, bytes, oldestMs, newestMs };
  }

  /** Every committed record there, until `see` returns false. */
  async #each(
    topic: string,
    partition: number,
    from: number,
    end: number,
    see: (raw: Raw) => unknown,
  ): Promise<void> {
    const { link, pages } = this.#parts;
    for (let next = from; next < end; ) {
      const page = await pages.page(link, topic, partition, next, PAGE);
      for (const raw of page.records) {
        if (raw.offset >= end || see(raw) === false) return;
      }
      if (page.next === next) return;
      next = page.next;
    }
  }

  async #letGo(topic: string, partition: number, to: number): Promise<void> {
    const { link, topics } = this.#parts;
    const name = topics.nameOf(topic);
    const partitions = [{ partitionIndex: partition, offset: BigInt(to) }];
    const target = { kind: 'leader', topic: name, partition } as const;
    try {
      await link.ask(target, deleteRecordsV2.api, [[{ name, partitions }], DELETING_MS]);
    } catch (error) {
      throw kindOf(error) === 'TOPIC_AUTHORIZATION_FAILED'
        ? this.#mayNotDelete(name, error)
        : error;
    }
  }

  #mayNotDelete(name: string, cause: unknown): MillraceError {
    const { run } = this.#parts;
    return new MillraceError(
      'KAFKA_AUTH',
      `the run's user may not delete records of ${name}: grant it the right to delete on topics that begin with ${run}. ` +
        '(archived records are then deleted), or run without --keep-log; nothing is lost',
      { context: { run, topic: name }, cause },
    );
  }
}
