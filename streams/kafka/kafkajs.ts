/**
 * The only file that knows kafkajs: of it we use connections, SASL, and the encoding of the protocol.
 *
 * Its producer and consumer are left out on purpose: they cannot say whether a commit that failed was
 * made, commit offsets without a generation (so a replaced reader is not refused), cannot read without
 * joining a group, and retry only some requests. What is taken here lies below them and is not part of
 * its documented interface; the requests that it lacks are written out in `offsetRequests.ts`, and those that carry
 * records in `recordRequests.ts`.
 */
import { createRequire } from 'node:module';
import * as zlib from 'node:zlib';
import { MillraceError } from '../../base/errors.ts';
import type { Compression, KafkaSettings } from './kafkaUrl.ts';
import type { Packing, Unpack } from './recordBatch.ts';

const require = createRequire(import.meta.url);

interface OfTopic<P> {
  readonly topic: string;
  readonly partitions: readonly P[];
}

/** Of the transaction: whose it is. */
export interface ProducerState {
  readonly transactionalId: string;
  readonly producerId: string;
  readonly producerEpoch: number;
}

/** A member of a group, as requests name it. */
export interface MemberIdentity {
  readonly groupId: string;
  readonly generationId: number;
  readonly memberId: string;
  readonly groupInstanceId: string;
}

export interface JoinedGroup {
  readonly generationId: number;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
}

/** A connected broker. */
export interface Broker {
  readonly connectionPool: {
    readonly pool: readonly Connection[];
    send(request: { request: object; response: object; requestTimeout?: number }): Promise<unknown>;
  };
  metadata(topics: readonly string[]): Promise<{
    readonly topicMetadata: readonly {
      readonly topic: string;
      readonly partitionMetadata: readonly {
        readonly partitionId: number;
        readonly leader: number;
      }[];
    }[];
  }>;
  createTopics(request: {
    readonly topics: readonly {
      readonly topic: string;
      readonly numPartitions: number;
      readonly replicationFactor: number;
      readonly configEntries: readonly { readonly name: string; readonly value: string }[];
    }[];
  }): Promise<unknown>;
  listOffsets(request: {
    readonly isolationLevel: number;
    readonly topics: readonly OfTopic<{ readonly partition: number; readonly timestamp: number }>[];
  }): Promise<{
    readonly responses: readonly OfTopic<{ readonly partition: number; readonly offset: string }>[];
  }>;
  findGroupCoordinator(request: {
    readonly groupId: string;
    readonly coordinatorType: number;
  }): Promise<{ readonly coordinator: { readonly nodeId: number } }>;
  initProducerId(request: {
    readonly transactionalId: string;
    readonly transactionTimeout: number;
  }): Promise<{ readonly producerId: string; readonly producerEpoch: number }>;
  addPartitionsToTxn(
    request: ProducerState & { readonly topics: readonly OfTopic<number>[] },
  ): Promise<unknown>;
  addOffsetsToTxn(request: ProducerState & { readonly groupId: string }): Promise<unknown>;
  endTxn(request: ProducerState & { readonly transactionResult: boolean }): Promise<unknown>;
}

/** A connection: what it waits for can be given up. */
interface Connection {
  rejectRequests(error: Error): void;
}

export interface Cluster {
  readonly brokerPool: {
    readonly seedBroker?: Broker;
    readonly brokers: Readonly<Record<string, Broker>>;
    findConnectedBroker(): Promise<Broker>;
  };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  findBroker(node: { readonly nodeId: number }): Promise<Broker>;
  findControllerBroker(): Promise<Broker>;
  findLeaderForPartitions(
    topic: string,
    partitions: readonly number[],
  ): Readonly<Record<string, readonly number[]>>;
}

export interface Encoder {
  readonly buffer: Buffer;
  writeInt8(value: number): Encoder;
  writeInt16(value: number): Encoder;
  writeInt32(value: number): Encoder;
  writeInt64(value: number | string): Encoder;
  writeBoolean(value: boolean): Encoder;
  writeString(value: string | null): Encoder;
  writeBytes(value: Buffer): Encoder;
  writeArray(value: readonly Encoder[]): Encoder;
  writeUVarIntString(value: string | null): Encoder;
  writeUVarIntArray(value: readonly Encoder[]): Encoder;
  writeUVarIntBytes(): Encoder;
}

export interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readInt64(): bigint;
  readString(): string | null;
  readBytes(): Buffer | null;
  readArray<T>(read: (decoder: Decoder) => T): readonly T[];
  readUVarIntString(): string | null;
  readUVarIntArray<T>(read: (decoder: Decoder) => T): readonly T[] | null;
  readTaggedFields(): unknown;
}

interface Codec {
  compress(of: { readonly buffer: Buffer }): Promise<Buffer>;
  decompress(bytes: Buffer): Promise<Buffer>;
}

type Protocol = (fields: object) => { request: object; response: object; requestTimeout?: number };

const ClusterOf = require('kafkajs/src/cluster') as new (options: object) => Cluster;
export const EncoderOf = require('kafkajs/src/protocol/encoder') as new (bytes?: number) => Encoder;
export const DecoderOf = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder;
const { createLogger } = require('kafkajs/src/loggers') as {
  createLogger(options: { level: number; logCreator: () => () => void }): unknown;
};
const socketFactory = require('kafkajs/src/network/socketFactory') as () => unknown;
const { requests } = require('kafkajs/src/protocol/requests') as {
  requests: Readonly<Record<string, { protocol(of: { version: number }): Protocol }>>;
};
const { KafkaJSConnectionClosedError: ConnectionClosed } = require('kafkajs/src/errors') as {
  KafkaJSConnectionClosedError: new (message: string) => Error;
};
export const { createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  createErrorFromCode(code: number): Error;
};
const { MemberMetadata, MemberAssignment } = require('kafkajs/src/consumer/assignerProtocol') as {
  MemberMetadata: {
    encode(of: { version: number; topics: readonly string[]; userData: Buffer }): Buffer;
    decode(bytes: Buffer): { readonly userData: Buffer };
  };
  MemberAssignment: {
    encode(of: { version: number; assignment: Record<string, readonly number[]> }): Buffer;
    decode(bytes: Buffer): { readonly assignment: Record<string, readonly number[]> } | null;
  };
};
const { Types, Codecs } = require('kafkajs/src/protocol/message/compression') as {
  Types: Readonly<Record<string, number>>;
  Codecs: Record<number, () => Codec>;
};
export const { MemberMetadata: memberMetadata, MemberAssignment: memberAssignment } = {
  MemberMetadata,
  MemberAssignment,
};

const CONNECT_MS = 5_000;
const REQUEST_MS = 30_000;

/** Connections of their own. kafkajs logs what it is given, so it is given no log. */
export function newCluster(settings: KafkaSettings, clientId: string): Cluster {
  const { brokers, tls, sasl } = settings;
  return new ClusterOf({
    ...{ brokers, clientId, ssl: tls ?? undefined, sasl: sasl ?? undefined },
    ...{ connectionTimeout: CONNECT_MS, requestTimeout: REQUEST_MS, enforceRequestTimeout: true },
    ...{ socketFactory: socketFactory(), allowAutoTopicCreation: false, metadataMaxAge: 300_000 },
    // We retry ourselves: here an error is told at once.
    retry: { retries: 0, initialRetryTime: 10, maxRetryTime: 10 },
    logger: createLogger({ level: 0, logCreator: () => () => undefined }),
  });
}

/** What waits for an answer (of a long poll half a second) fails at once; kafkajs would wait for it before it disconnects. */
export function giveUpRequests(cluster: Cluster): void {
  const { seedBroker, brokers } = cluster.brokerPool;
  for (const broker of [seedBroker, ...Object.values(brokers)]) {
    for (const connection of broker?.connectionPool.pool ?? []) {
      connection.rejectRequests(new ConnectionClosed('this side has ended the connection'));
    }
  }
}

interface Zstd {
  zstdCompressSync?(bytes: Buffer): Buffer;
  zstdDecompressSync?(bytes: Buffer): Buffer;
}

const { zstdCompressSync, zstdDecompressSync } = zlib as Zstd;
if (zstdCompressSync !== undefined && zstdDecompressSync !== undefined) {
  Codecs[Types.ZSTD!] = () => ({
    compress: async ({ buffer }) => zstdCompressSync(buffer),
    decompress: async (bytes: Buffer) => zstdDecompressSync(bytes),
  });
}

/** Null: records stay as they are. Fails with code `USAGE` where this Node cannot do it. */
export function packingOf(name: Compression): Packing | null {
  if (name === 'none') return null;
  if (name === 'zstd' && zstdCompressSync === undefined) {
    throw new MillraceError(
      'USAGE',
      `Node ${process.version} has no zstd (22.15 and newer have); use compression=gzip or none`,
    );
  }
  const code = Types[name === 'gzip' ? 'GZIP' : 'ZSTD']!;
  return { code, pack: (bytes) => Codecs[code]!().compress({ buffer: bytes }) };
}

export const unpack: Unpack = (code, bytes) => {
  const codec = Codecs[code];
  if (codec === undefined)
    throw new Error(`records are packed in a way (${code}) that is not known`);
  return codec().decompress(bytes);
};

async function ask(
  broker: Broker,
  name: string,
  version: number,
  fields: object,
): Promise<unknown> {
  const protocol = requests[name]!.protocol({ version });
  return broker.connectionPool.send(protocol(fields));
}

/** Static membership (KIP-345): kafkajs encodes it, and does not offer it. */
export async function joinGroup(
  broker: Broker,
  fields: Omit<MemberIdentity, 'generationId'> & {
    readonly sessionTimeout: number;
    readonly rebalanceTimeout: number;
    readonly protocolType: string;
    readonly groupProtocols: readonly { readonly name: string; readonly metadata: Buffer }[];
  },
): Promise<JoinedGroup> {
  return (await ask(broker, 'JoinGroup', 5, fields)) as JoinedGroup;
}

export async function syncGroup(
  broker: Broker,
  fields: MemberIdentity & {
    readonly groupAssignment: readonly {
      readonly memberId: string;
      readonly memberAssignment: Buffer;
    }[];
  },
): Promise<{ readonly memberAssignment: Buffer }> {
  return (await ask(broker, 'SyncGroup', 3, fields)) as { memberAssignment: Buffer };
}

export async function heartbeat(broker: Broker, member: MemberIdentity): Promise<void> {
  const { generationId, ...rest } = member;
  await ask(broker, 'Heartbeat', 3, { ...rest, groupGenerationId: generationId });
}

export async function leaveGroup(broker: Broker, member: MemberIdentity): Promise<void> {
  const { groupId, memberId, groupInstanceId } = member;
  await ask(broker, 'LeaveGroup', 3, { groupId, memberId, groupInstanceId });
}

export interface PartitionAnswer {
  readonly errorCode: number;
}

export function throwFirst(answers: readonly PartitionAnswer[]): void {
  const failed = answers.find(({ errorCode }) => errorCode !== 0);
  if (failed !== undefined) throw createErrorFromCode(failed.errorCode);
}
