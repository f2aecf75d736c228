/**
 * A topic of another system: its address, and a kafkajs client for it.
 *
 * `kafka://host:port[,host:port…]/topic[?setting=value&…]`, with the settings of a log's address that are
 * about the way in (`tls`, `sasl`, `ca`, `cert`, `key`, `registry`). It is recorded with a run's settings, so
 * it has no login: users and passwords come from MILLRACE_FOREIGN_KAFKA_USERNAME and …_PASSWORD, or else from
 * those of the log.
 */
import type { CompressionTypes, Kafka, Producer, ProducerConfig, SASLOptions } from 'kafkajs';
import { MillraceError } from '../../base/index.ts';
import { type Environment, type KafkaSettings, kafkaSettings } from './kafkaUrl.ts';

export interface ForeignTopic {
  readonly topic: string;
  readonly settings: KafkaSettings;
  /** Settings of the address that are the caller's own. */
  readonly own: Readonly<Record<string, string>>;
  /** As it may be displayed. */
  readonly shown: string;
}

const FORM = 'write kafka://host:port/topic, as in docs/sources.md';

/** Fails with code `USAGE`, saying what is wrong. `own` names the caller's settings. */
export function foreignTopic(
  address: string,
  env: Environment,
  own: readonly string[] = [],
): ForeignTopic {
  if (address.includes('@')) {
    throw usage(
      `the address of a topic must not contain a user or password: put them in MILLRACE_FOREIGN_KAFKA_USERNAME and MILLRACE_FOREIGN_KAFKA_PASSWORD`,
    );
  }
  const match = /^(kafkas?:\/\/[^/?]+)\/([A-Za-z0-9._-]{1,249})(?:\?(.*))?$/.exec(address);
  if (match === null) throw usage(`${address} has no topic: ${FORM}`);
  const [, servers = '', topic = '', text = ''] = match;
  const query = new URLSearchParams(text);
  const taken: Record<string, string> = {};
  for (const name of own) {
    const value = query.get(name);
    if (value !== null) taken[name] = value;
    query.delete(name);
  }
  const settings = kafkaSettings(query.size === 0 ? servers : `${servers}?${query}`, {
    ...env,
    MILLRACE_KAFKA_USERNAME: env.MILLRACE_FOREIGN_KAFKA_USERNAME ?? env.MILLRACE_KAFKA_USERNAME,
    MILLRACE_KAFKA_PASSWORD: env.MILLRACE_FOREIGN_KAFKA_PASSWORD ?? env.MILLRACE_KAFKA_PASSWORD,
  });
  return { topic, settings, own: taken, shown: `${servers}/${topic}` };
}

/** A client of its cluster, which logs nothing. */
export async function foreignKafka({ settings }: ForeignTopic, clientId: string): Promise<Kafka> {
  const { default: kafkajs } = await import('kafkajs');
  const { tls, sasl, brokers } = settings;
  await takeCodecs(kafkajs);
  return new kafkajs.Kafka({
    clientId,
    brokers: [...brokers],
    logLevel: kafkajs.logLevel.NOTHING,
    ...(tls === null ? {} : { ssl: { ...tls } }),
    ...(sasl === null ? {} : { sasl: sasl as SASLOptions }),
  });
}

/**
 * A producer that either sends everything it was given, or fails. When kafkajs itself retries a request to
 * several partitions, it leaves out those that have moved to a broker which had already answered, and reports
 * them as sent. So the caller retries the whole request.
 */
export function wholeProducer(kafka: Kafka, config: Omit<ProducerConfig, 'retry'>): Producer {
  return kafka.producer({ ...config, maxInFlightRequests: 1, retry: { retries: 0 } });
}

/** Topics are often written with snappy, lz4 or zstd, which kafkajs leaves to other packages. */
async function takeCodecs(kafkajs: typeof import('kafkajs')): Promise<void> {
  const { compressionsAlgorithms } = await import('@platformatic/kafka');
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  const codecs = [
    [CompressionTypes.Snappy, compressionsAlgorithms.snappy],
    [CompressionTypes.LZ4, compressionsAlgorithms.lz4],
    [CompressionTypes.ZSTD, compressionsAlgorithms.zstd],
  ] as const;
  for (const [type, codec] of codecs) {
    if (!codec.available) continue;
    (CompressionCodecs as Record<CompressionTypes, () => unknown>)[type] = () => ({
      compress: async ({ buffer }: { readonly buffer: Buffer }) => codec.compressSync(buffer),
      decompress: async (bytes: Buffer) => codec.decompressSync(bytes),
    });
  }
}

function usage(message: string): MillraceError {
  return new MillraceError('USAGE', message);
}
