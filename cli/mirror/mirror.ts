/**
 * `millrace mirror RUN kafka://host:port/prefix`: a run's topics on another Kafka cluster, for consoles,
 * ksqlDB, kcat and consumers in any language. Its address is that of another system's topic
 * (`streams/kafka/foreignTopic.ts`), with the prefix in place of the topic.
 */

import { sleepClock } from '../../base/index.ts';
import { plain } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import { mirror } from '../../sinks/outside/index.ts';
import {
  type ForeignTopic,
  foreignKafka,
  foreignTopic,
  HttpRegistry,
  type KafkaSettings,
  kafkaSettings,
  seal,
} from '../../streams/foreign/index.ts';
import type { Log, Topic } from '../../streams/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { findRun, openRunLog, type Run } from '../runs.ts';
import { topicsLike } from '../tap/patterns.ts';

/** The protocol's numbers. */
const COMPRESSIONS = { none: 0, gzip: 1, zstd: 4 } as const;

export interface MirrorCommand {
  readonly run: string;
  readonly runs: string;
  readonly address: string;
  /** Names and patterns; all of the run's when absent. */
  readonly topics?: readonly string[];
  /** Stop at the current end of the run's topics. */
  readonly once?: boolean;
}

export async function mirrorCommand(options: MirrorCommand, io: Io): Promise<number> {
  const foreign = target(options.address, options.run);
  const { settings, topic: prefix } = foreign;
  const run = await findRun(io, options.runs, options.run);
  if (run.record.log !== undefined && prefix === run.name) {
    throw usageError(
      `run ${run.name} already has its topics on Kafka under that name; give the mirror another prefix: kafka://host:port/PREFIX`,
    );
  }
  io.giveWay?.();
  const interrupted = interruption(io, null);
  let records = 0;
  try {
    const log = await openRunLog(run, { mode: 'read', notice: (line) => io.err(line) });
    try {
      const { partitions, replication, compression } = settings;
      const topics = await asked(log, options.topics, settings);
      io.err(`mirroring ${counted(topics.length, 'topic')} of ${run.name} to ${prefix}.*`);
      await mirror({
        ...{ log, replication, signal: interrupted.signal, follow: options.once !== true },
        topics,
        kafka: await foreignKafka(foreign, `millrace.${run.name}.mirror`),
        id: `millrace-mirror.${prefix}.${run.name}.${run.record.starts[0]!.startedMs}`,
        nameOf: (topic) => `${prefix}.${topic}`,
        encode:
          settings.registry === null ? json : avro(new HttpRegistry(settings.registry, prefix)),
        partitions: Math.max(partitions, ownPartitions(run)),
        compression: COMPRESSIONS[compression],
        clock: sleepClock(io.clock),
        notice: (line) => io.err(line),
        written: (count) => {
          records += count;
        },
      });
    } finally {
      await log.close();
    }
  } finally {
    interrupted.release();
    io.err(`mirrored ${counted(records, 'record')}`);
  }
  return exitCodes.done;
}

/** The destination; topics are named after the run if the address has no path. Fails with code `USAGE`. */
function target(address: string, run: string): ForeignTopic {
  const bare = /^(kafkas?:\/\/[^/?]+)\/?(\?.*)?$/.exec(address);
  const whole = bare === null ? address : `${bare[1]}/${run}${bare[2] ?? ''}`;
  return foreignTopic(whole, process.env);
}

/** In a folder a topic has one partition. */
function ownPartitions({ record }: Run): number {
  return record.log === undefined ? 1 : kafkaSettings(record.log, process.env).partitions;
}

async function asked(
  log: Log,
  patterns: readonly string[] = ['*'],
  { registry }: KafkaSettings,
): Promise<readonly Topic<unknown>[]> {
  const there = (await log.stats()).map(({ topic }) => topic);
  const topics = topicsLike(patterns, there);
  const own = topics.filter(({ codec }) => codec.schema === null);
  if (registry === null || own.length === 0) return topics;
  throw usageError(
    `${own[0]!.name} is defined by the job and can only be written as JSON; drop the registry, or choose other topics with --topic`,
  );
}

function json(_: Topic<unknown>, value: unknown): Buffer {
  return Buffer.from(JSON.stringify(plain(value)));
}

/** Confluent's wire form, with the schema that this version writes. */
function avro(registry: HttpRegistry): (topic: Topic<unknown>, value: unknown) => Promise<Buffer> {
  const ids = new Map<string, Promise<number>>();
  return async (topic, value) => {
    const id =
      ids.get(topic.name) ??
      registry.idOf(`${topic.name}-value`, topic.codec.schema, (older) => {
        for (const schema of older) topic.codec.reading(schema);
      });
    ids.set(topic.name, id);
    return seal(await id, topic.codec.encode(value));
  };
}
