/**
 * The topics of a run on the broker: `<run>.<topic>`, made when they are first needed.
 *
 * Their records are kept forever, whatever the broker's default: a run is its records (what processes post
 * about themselves is not part of it, and expires). A topic of `onePartition` has one partition; the others
 * have as many as were requested when they were made, and a key always goes to the same one (murmur2, as in
 * other Kafka clients). Partitions that someone adds later are not used: keys would move, and processes that
 * started before would not read what others write there.
 */
import { compressionsAlgorithms, createTopicsV7, murmur2 } from '@platformatic/kafka';
import { MillraceError } from '../../base/index.ts';
import type { Topic } from '../topic.ts';
import { type Link, partitionCount } from './link.ts';
import { kindOf, reasonOf } from './problems.ts';

const MAKING_MS = 20_000;
const MESSAGE_BYTES_MAX = 64 * 2 ** 20;
const LONG_MAX = '9223372036854775807';

export type Kind = 'records' | 'state' | 'schemas' | 'board';

export class KafkaTopics {
  readonly #link: Link;
  readonly #run: string;
  /** Topics that have one partition. */
  readonly #single: ReadonlySet<string>;
  /** Partition counts of the topics that are known to exist. */
  readonly #known = new Map<string, Promise<number>>();
  /** Partitions that the run's records are in. */
  readonly #used = new Map<string, number>();

  constructor(link: Link, run: string, topics: readonly Topic<unknown>[]) {
    if (!compressionsAlgorithms[link.settings.compression].available) {
      throw new MillraceError(
        'USAGE',
        `Node ${process.version} has no zstd (22.15 and newer have); use compression=gzip or none`,
      );
    }
    this.#link = link;
    this.#run = run;
    this.#single = new Set(
      topics.filter(({ onePartition }) => onePartition).map(({ name }) => name),
    );
  }

  nameOf(topic: string): string {
    return `${this.#run}.${topic}`;
  }

  /** How many partitions it has; it is made if it does not exist. */
  ensure(topic: string, kind: Kind = 'records'): Promise<number> {
    const known = this.#known.get(topic) ?? this.#findOrMake(topic, kind);
    this.#known.set(topic, known);
    known.catch(() => this.#known.delete(topic));
    return known;
  }

  /** How many partitions it has; 0 if it does not exist. */
  async partitions(topic: string): Promise<number> {
    const known = this.#known.get(topic);
    if (known !== undefined) return known;
    const count = await this.#count(topic);
    if (count > 0) this.#known.set(topic, Promise.resolve(count));
    return count;
  }

  /** Records how many partitions the run uses of a topic, however many there are now. */
  use(topic: string, partitions: number): void {
    if (this.#used.get(topic) === partitions) return;
    this.#used.set(topic, partitions);
    this.#known.delete(topic);
  }

  async #findOrMake(topic: string, kind: Kind): Promise<number> {
    const count = await this.#count(topic);
    if (count > 0) return count;
    await this.#make(topic, kind);
    for (;;) {
      // It takes a moment until every broker knows it.
      const made = await this.#count(topic);
      if (made > 0) return made;
      await new Promise((done) => setTimeout(done, 5));
    }
  }

  async #count(topic: string): Promise<number> {
    const there = await this.#link.ask({ kind: 'any' }, partitionCount, [this.nameOf(topic)]);
    const used = this.#single.has(topic) ? 1 : this.#used.get(topic);
    return Math.min(there, used ?? there);
  }

  async #make(topic: string, kind: Kind): Promise<void> {
    const { partitions, replication } = this.#link.settings;
    const name = this.nameOf(topic);
    const one = kind !== 'records' || this.#single.has(topic);
    const made = {
      name,
      numPartitions: one ? 1 : partitions,
      replicationFactor: replication,
      assignments: [],
      configs: Object.entries(configs(kind)).map(([of, value]) => ({ name: of, value })),
    };
    try {
      await this.#link.ask({ kind: 'controller' }, createTopicsV7.api, [[made], MAKING_MS, false]);
    } catch (error) {
      if (error instanceof MillraceError) throw error;
      if (kindOf(error) === 'TOPIC_ALREADY_EXISTS') return;
      throw new MillraceError(
        'KAFKA',
        `the broker did not create the topic ${name}: ${reasonOf(error)}`,
        {
          cause: error,
        },
      );
    }
  }
}

const KEPT = { 'retention.ms': '-1', 'retention.bytes': '-1' };
/** Deleted after an hour or two. */
const SHORT_LIVED = { 'retention.ms': '3600000', 'segment.ms': '3600000' };

function configs(kind: Kind): Readonly<Record<string, string>> {
  return {
    'cleanup.policy': kind === 'state' ? 'compact' : 'delete',
    ...(kind === 'board' ? SHORT_LIVED : KEPT),
    // Times are the log's clock, which may be far from the broker's.
    'message.timestamp.type': 'CreateTime',
    'message.timestamp.before.max.ms': LONG_MAX,
    'message.timestamp.after.max.ms': LONG_MAX,
    'max.message.bytes': String(MESSAGE_BYTES_MAX),
  };
}

/** As Kafka's own clients spread keys. */
export function partitionOf(key: string, partitions: number): number {
  return partitions === 1 ? 0 : (murmur2(key, true) & 0x7fffffff) % partitions;
}
