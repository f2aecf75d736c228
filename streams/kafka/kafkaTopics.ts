/**
 * The topics of a run on the broker: `<run>.<topic>`, made when they are first needed.
 *
 * Their records are kept for ever, whatever the broker's default: a run is its records (what processes say about
 * themselves is none, and goes). A topic whose
 * order across keys matters has one partition; the others have as many as was asked for when they were
 * made, and a key always goes to the same one (murmur2, as other Kafka clients do it).
 */
import { type Broker, packingOf } from './kafkajs.ts';
import type { Link } from './link.ts';
import { kindOf } from './problems.ts';

/** Steps, versions and whatever is read as one sequence. */
const ORDERED: ReadonlySet<string> = new Set(['batches', 'weights', 'metrics', 'dead-letters']);

const MESSAGE_BYTES_MAX = 64 * 2 ** 20;
const LONG_MAX = '9223372036854775807';

export type Kind = 'records' | 'state' | 'schemas' | 'board';

export class KafkaTopics {
  readonly #link: Link;
  readonly #run: string;
  /** Partitions of those that are known to be there. */
  readonly #known = new Map<string, Promise<number>>();

  constructor(link: Link, run: string) {
    packingOf(link.settings.compression); // fails here where it cannot be done
    this.#link = link;
    this.#run = run;
  }

  nameOf(topic: string): string {
    return `${this.#run}.${topic}`;
  }

  /** How many partitions it has; it is made when it is not there. */
  ensure(topic: string, kind: Kind = 'records'): Promise<number> {
    const known = this.#known.get(topic) ?? this.#findOrMake(topic, kind);
    this.#known.set(topic, known);
    known.catch(() => this.#known.delete(topic));
    return known;
  }

  /** How many partitions it has; 0 where it does not exist. */
  async partitions(topic: string): Promise<number> {
    const known = this.#known.get(topic);
    if (known !== undefined) return known;
    const count = await this.#count(topic);
    if (count > 0) this.#known.set(topic, Promise.resolve(count));
    return count;
  }

  async #findOrMake(topic: string, kind: Kind): Promise<number> {
    const count = await this.#count(topic);
    if (count > 0) return count;
    await this.#link.ask({ kind: 'controller' }, (broker) => this.#make(broker, topic, kind));
    for (;;) {
      // Every broker learns of it a moment later.
      const made = await this.#count(topic);
      if (made > 0) return made;
      await new Promise((done) => setTimeout(done, 5));
    }
  }

  async #count(topic: string): Promise<number> {
    const name = this.nameOf(topic);
    return this.#link.ask({ kind: 'any' }, async (broker) => {
      try {
        const { topicMetadata } = await broker.metadata([name]);
        return topicMetadata.find((found) => found.topic === name)?.partitionMetadata.length ?? 0;
      } catch (error) {
        if (kindOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return 0;
        throw error;
      }
    });
  }

  async #make(broker: Broker, topic: string, kind: Kind): Promise<void> {
    const { partitions, replication } = this.#link.settings;
    const one = kind !== 'records' || ORDERED.has(topic);
    const made = {
      topic: this.nameOf(topic),
      numPartitions: one ? 1 : partitions,
      replicationFactor: replication,
      configEntries: Object.entries(configs(kind)).map(([name, value]) => ({ name, value })),
    };
    try {
      await broker.createTopics({ topics: [made] });
    } catch (error) {
      if (kindOf(error) !== 'TOPIC_ALREADY_EXISTS') throw error;
    }
  }
}

const KEPT = { 'retention.ms': '-1', 'retention.bytes': '-1' };
/** Gone after an hour or two. */
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

const SEED = 0x9747b28c;
const FACTOR = 0x5bd1e995;

/** MurmurHash2 of 32 bits as Kafka's own clients compute it, so that they put a key where we do. */
export function murmur2(bytes: Uint8Array): number {
  const { length } = bytes;
  let hash = SEED ^ length;
  const whole = length - (length % 4);
  for (let i = 0; i < whole; i += 4) {
    let word = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    word = Math.imul(word, FACTOR);
    word ^= word >>> 24;
    hash = Math.imul(hash, FACTOR) ^ Math.imul(word, FACTOR);
  }
  if (length % 4 === 3) hash ^= bytes[whole + 2]! << 16;
  if (length % 4 >= 2) hash ^= bytes[whole + 1]! << 8;
  if (length % 4 >= 1) hash = Math.imul(hash ^ bytes[whole]!, FACTOR);
  hash = Math.imul(hash ^ (hash >>> 13), FACTOR);
  return (hash ^ (hash >>> 15)) | 0;
}

export function partitionOf(key: Uint8Array, partitions: number): number {
  return partitions === 1 ? 0 : (murmur2(key) & 0x7fffffff) % partitions;
}
