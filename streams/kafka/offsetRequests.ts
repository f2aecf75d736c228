/**
 * The two requests about a group's offsets that kafkajs lacks, in the versions that know generations and transactions.
 */
import {
  type Broker,
  DecoderOf,
  type Encoder,
  EncoderOf,
  type MemberIdentity,
  type PartitionAnswer,
  type ProducerState,
  throwFirst,
} from './kafkajs.ts';

export interface OffsetToCommit {
  readonly partition: number;
  readonly offset: number;
  readonly metadata: string;
}

const tags = (encoder: Encoder): Encoder => encoder.writeUVarIntBytes();

/**
 * TxnOffsetCommit, version 3 (KIP-447): refused when the member is no longer of the group's generation,
 * which is what keeps a replaced reader from committing.
 */
export async function commitOffsets(
  broker: Broker,
  producer: ProducerState,
  member: MemberIdentity,
  topic: string,
  offsets: readonly OffsetToCommit[],
): Promise<void> {
  const partitions = offsets.map(({ partition, offset, metadata }) =>
    tags(
      new EncoderOf()
        .writeInt32(partition)
        .writeInt64(offset)
        .writeInt32(-1)
        .writeUVarIntString(metadata),
    ),
  );
  const request = {
    apiKey: 28,
    apiVersion: 3,
    apiName: 'TxnOffsetCommit',
    encode: async () =>
      tags(
        tags(new EncoderOf())
          .writeUVarIntString(producer.transactionalId)
          .writeUVarIntString(member.groupId)
          .writeInt64(producer.producerId)
          .writeInt16(producer.producerEpoch)
          .writeInt32(member.generationId)
          .writeUVarIntString(member.memberId)
          .writeUVarIntString(member.groupInstanceId)
          .writeUVarIntArray([
            tags(new EncoderOf().writeUVarIntString(topic).writeUVarIntArray(partitions)),
          ]),
      ),
  };
  const decode = async (bytes: Buffer): Promise<readonly PartitionAnswer[]> => {
    const decoder = new DecoderOf(bytes);
    decoder.readTaggedFields();
    decoder.readInt32(); // throttle time
    const topics = decoder.readUVarIntArray((d) => {
      d.readUVarIntString();
      const answers = d.readUVarIntArray((p) => {
        p.readInt32();
        const answer = { errorCode: p.readInt16() };
        p.readTaggedFields();
        return answer;
      });
      d.readTaggedFields();
      return answers ?? [];
    });
    return (topics ?? []).flat();
  };
  const parse = async (answers: readonly PartitionAnswer[]): Promise<void> => throwFirst(answers);
  await broker.connectionPool.send({ request, response: { decode, parse } });
}

export interface CommittedOffset {
  readonly partition: number;
  /** -1: none was committed. */
  readonly offset: number;
  readonly metadata: string;
}

/**
 * OffsetFetch, version 7 (KIP-447): fails with UNSTABLE_OFFSET_COMMIT while a transaction that would
 * change them is not decided, so a new reader never begins from offsets about to be replaced.
 */
export async function fetchOffsets(
  broker: Broker,
  groupId: string,
  topic: string,
  partitions: readonly number[],
): Promise<readonly CommittedOffset[]> {
  const request = {
    apiKey: 9,
    apiVersion: 7,
    apiName: 'OffsetFetch',
    encode: async () =>
      tags(
        tags(new EncoderOf())
          .writeUVarIntString(groupId)
          .writeUVarIntArray([
            tags(
              new EncoderOf()
                .writeUVarIntString(topic)
                .writeUVarIntArray(partitions.map((p) => new EncoderOf().writeInt32(p))),
            ),
          ])
          .writeBoolean(true),
      ),
  };
  type Answer = CommittedOffset & PartitionAnswer;
  const decode = async (bytes: Buffer): Promise<readonly PartitionAnswer[]> => {
    const decoder = new DecoderOf(bytes);
    decoder.readTaggedFields();
    decoder.readInt32(); // throttle time
    const topics = decoder.readUVarIntArray((d) => {
      d.readUVarIntString();
      const answers = d.readUVarIntArray((p): Answer => {
        const partition = p.readInt32();
        const offset = Number(p.readInt64().toString());
        p.readInt32(); // leader epoch
        const metadata = p.readUVarIntString() ?? '';
        const answer = { partition, offset, metadata, errorCode: p.readInt16() };
        p.readTaggedFields();
        return answer;
      });
      d.readTaggedFields();
      return answers ?? [];
    });
    throwFirst([{ errorCode: decoder.readInt16() }]);
    return (topics ?? []).flat();
  };
  const parse = async (answers: readonly PartitionAnswer[]): Promise<unknown> => {
    throwFirst(answers);
    return answers;
  };
  return (await broker.connectionPool.send({
    request,
    response: { decode, parse },
  })) as readonly CommittedOffset[];
}
