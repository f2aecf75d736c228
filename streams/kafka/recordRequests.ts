/**
 * Produce (version 7) and Fetch (version 11), the two requests that carry records: written out here, for kafkajs's own
 * take longer over a small record than everything else that is done to it.
 */
import {
  type Broker,
  createErrorFromCode,
  type Decoder,
  DecoderOf,
  EncoderOf,
  type ProducerState,
  throwFirst,
  unpack,
} from './kafkajs.ts';
import {
  decodeBatches,
  encodeBatch,
  type Message,
  type Packing,
  type RawBatch,
} from './recordBatch.ts';

export interface Production {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly Message[];
  readonly packing: Packing | null;
  /** Null: outside of transactions, and twice when it is asked twice. */
  readonly owner: (ProducerState & { readonly firstSequence: number }) | null;
}

/** About: an encoder grows where it has to. */
const BEFORE_BATCH_BYTES = 512;
const ALL_REPLICAS = -1;
const PRODUCE_MS = 30_000;
/** What the broker may take beyond the time that it was told to wait. */
const NETWORK_MS = 5_000;

/** One batch for one partition. The offset of its first record. */
export async function produce(broker: Broker, production: Production): Promise<number> {
  const { topic, partition, messages, packing, owner } = production;
  const request = {
    apiKey: 0,
    apiVersion: 7,
    apiName: 'Produce',
    encode: async () => {
      const batch = await encodeBatch(messages, owner, packing);
      // One topic and one partition, without an encoder each: a batch is long, and would be copied every time.
      return new EncoderOf(batch.length + BEFORE_BATCH_BYTES)
        .writeString(owner?.transactionalId ?? null)
        .writeInt16(ALL_REPLICAS)
        .writeInt32(PRODUCE_MS)
        .writeInt32(1)
        .writeString(topic)
        .writeInt32(1)
        .writeInt32(partition)
        .writeBytes(batch);
    },
  };
  const decode = async (bytes: Buffer) => {
    const topics = new DecoderOf(bytes).readArray((d) => {
      d.readString();
      return d.readArray((p) => {
        p.readInt32();
        const answer = { errorCode: p.readInt16(), baseOffset: Number(p.readInt64()) };
        p.readInt64(); // when it was appended
        p.readInt64(); // where the log begins
        return answer;
      });
    });
    return topics.flat();
  };
  const parse = async (answers: Awaited<ReturnType<typeof decode>>): Promise<number> => {
    throwFirst(answers);
    return answers[0]!.baseOffset;
  };
  return (await broker.connectionPool.send({
    request,
    response: { decode, parse },
    requestTimeout: PRODUCE_MS + NETWORK_MS,
  })) as number;
}

export interface FetchWanted {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number; readonly offset: number }[];
  /** How long the broker may wait for the first record. */
  readonly waitMs: number;
  /** Of a partition; one larger batch still comes. */
  readonly bytesMax: number;
}

export interface FetchedPartition {
  readonly partition: number;
  /** First offset that is not yet known to be committed. */
  readonly lastStableOffset: number;
  readonly aborted: readonly { readonly producerId: string; readonly firstOffset: number }[];
  readonly batches: readonly RawBatch[];
}

const CONSUMER = -1;
const READ_COMMITTED = 1;
const NO_SESSION = { id: 0, epoch: -1 };
const UNKNOWN = -1;

/** Batches as they lie, up to the first transaction that is open. Fails where one partition is refused. */
export async function fetchBatches(
  broker: Broker,
  { topic, partitions, waitMs, bytesMax }: FetchWanted,
): Promise<readonly FetchedPartition[]> {
  const wanted = partitions.map(({ partition, offset }) =>
    new EncoderOf()
      .writeInt32(partition)
      .writeInt32(UNKNOWN) // epoch of the leader
      .writeInt64(offset)
      .writeInt64(UNKNOWN) // where the log begins
      .writeInt32(bytesMax),
  );
  const request = {
    apiKey: 1,
    apiVersion: 11,
    apiName: 'Fetch',
    encode: async () =>
      new EncoderOf()
        .writeInt32(CONSUMER)
        .writeInt32(waitMs)
        .writeInt32(1) // bytes that are worth an answer
        .writeInt32(bytesMax * partitions.length)
        .writeInt8(READ_COMMITTED)
        .writeInt32(NO_SESSION.id)
        .writeInt32(NO_SESSION.epoch)
        .writeArray([new EncoderOf().writeString(topic).writeArray(wanted)])
        .writeArray([]) // topics to forget
        .writeString(''), // rack
  };
  const decode = async (bytes: Buffer) => {
    const decoder = new DecoderOf(bytes);
    decoder.readInt32(); // throttle time
    const errorCode = decoder.readInt16();
    decoder.readInt32(); // session
    const topics = decoder.readArray((d) => {
      d.readString();
      return d.readArray(partitionAnswer);
    });
    return { errorCode, answers: topics.flat() };
  };
  const parse = async ({ errorCode, answers }: Awaited<ReturnType<typeof decode>>) => {
    if (errorCode !== 0) throw createErrorFromCode(errorCode);
    throwFirst(answers);
    return Promise.all(
      answers.map(async ({ bytes, ...rest }) => ({
        ...rest,
        batches: await decodeBatches(bytes, rest.partition, unpack),
      })),
    );
  };
  return (await broker.connectionPool.send({
    request,
    response: { decode, parse },
    requestTimeout: waitMs + NETWORK_MS,
  })) as readonly FetchedPartition[];
}

function partitionAnswer(decoder: Decoder) {
  const partition = decoder.readInt32();
  const errorCode = decoder.readInt16();
  decoder.readInt64(); // high watermark
  const lastStableOffset = Number(decoder.readInt64());
  decoder.readInt64(); // where the log begins
  const aborted = decoder.readArray((d) => ({
    producerId: String(d.readInt64()),
    firstOffset: Number(d.readInt64()),
  }));
  decoder.readInt32(); // a replica to read from
  const bytes = decoder.readBytes() ?? Buffer.alloc(0);
  return { partition, errorCode, lastStableOffset, aborted, bytes };
}
