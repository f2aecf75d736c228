import { createRequire } from 'node:module';
import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { crc32c } from '../../../streams/kafka/crc32c.ts';
import { packingOf, unpack } from '../../../streams/kafka/kafkajs.ts';
import {
  decodeBatches,
  encodeBatch,
  headersOf,
  type Message,
  NO_BYTES,
} from '../../../streams/kafka/recordBatch.ts';

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => object;
/** The second writing: what kafkajs makes of a batch. */
const decodeThere = require('kafkajs/src/protocol/recordBatch/v0/decoder') as (
  decoder: object,
) => Promise<{
  readonly inTransaction: boolean;
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly lastOffsetDelta: number;
  readonly records: readonly {
    readonly offset: string;
    readonly timestamp: string;
    readonly key: Buffer;
    readonly value: Buffer;
    readonly headers: Readonly<Record<string, Buffer>>;
  }[];
}>;
const crcThere = require('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number;
const { RecordBatch: encodeThere } = require('kafkajs/src/protocol/recordBatch/v0') as {
  RecordBatch(of: object): Promise<{ readonly buffer: Buffer }>;
};
const recordThere = require('kafkajs/src/protocol/recordBatch/record/v0') as (of: object) => object;

const AT_MS = 1_700_000_000_000;
const owner = { producerId: '9007199254740993', producerEpoch: 7, firstSequence: 300 };

/** Of lengths on both sides of where numbers grow by a byte. */
const messages: readonly Message[] = [0, 1, 63, 64, 200, 8_191, 8_192, 70_000].map((length, i) => ({
  key: i === 1 ? '' : `clé-${i}`,
  lead: i % 2 === 0 ? NO_BYTES : Buffer.of(0, 0, 0, 0, i),
  value: Buffer.alloc(length, i + 1),
  headers: i === 2 ? {} : { contract: `questions/${i}` },
  timestamp: AT_MS + [0, 5, -3, 70, 8_200, 0, 2 ** 33, 1][i]!,
}));
const wholeOf = ({ lead, value }: Message): Buffer => Buffer.concat([lead, value]);

describe('the checksum', () => {
  test('is that of the standard', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
    expect(crc32c(NO_BYTES)).toBe(0);
  });

  test('is that of a slower writing, for every length and beginning', () => {
    const chance = draws('crc', 1);
    const bytes = Buffer.from(Array.from({ length: 99 }, (_, i) => chance.integer(i, 256)));
    for (let from = 0; from < 10; from++) {
      for (let to = from; to <= bytes.length; to++) {
        expect(crc32c(bytes, from, to)).toBe(crcThere(bytes.subarray(from, to)));
      }
    }
  });
});

describe('a batch of records', () => {
  test('reads in kafkajs as it was written', async () => {
    const bytes = await encodeBatch(messages, owner, null);
    expect(bytes.readUInt32BE(17)).toBe(crcThere(bytes.subarray(21)));
    const batch = await decodeThere(new Decoder(bytes));
    expect(batch).toMatchObject({ ...owner, inTransaction: true, lastOffsetDelta: 7 });
    expect(batch.records.map(({ offset }) => Number(offset))).toEqual(messages.map((_, i) => i));
    expect(batch.records.map(({ timestamp }) => Number(timestamp))).toEqual(
      messages.map(({ timestamp }) => timestamp),
    );
    expect(batch.records.map(({ key }) => key.toString())).toEqual(messages.map(({ key }) => key));
    expect(batch.records.map(({ value }) => value)).toEqual(messages.map(wholeOf));
    expect(batch.records.map(({ headers }) => headers.contract?.toString())).toEqual(
      messages.map(({ headers }) => headers.contract),
    );
  });

  test.each(['none', 'gzip'] as const)('reads here as it was written, packing %s', async (how) => {
    const bytes = await encodeBatch(messages, owner, packingOf(how));
    bytes.writeBigInt64BE(1_000n, 0); // as the broker places it
    const [batch] = await decodeBatches(bytes, 3, unpack);
    const { producerId } = owner;
    expect(batch).toMatchObject({ producerId, lastOffset: 1_007, inTransaction: true });
    expect(batch!.isControl).toBe(false);
    expect(
      batch!.records.map(({ within: _within, headersAt: _headersAt, ...record }) => record),
    ).toEqual(
      messages.map((message, i) => ({
        ...{ partition: 3, offset: 1_000 + i, atMs: message.timestamp, key: message.key },
        ...{ value: wholeOf(message), producerId },
      })),
    );
    expect(batch!.records.map((record) => headersOf(record).get('contract'))).toEqual(
      messages.map(({ headers }) => headers.contract),
    );
  });

  test('belongs to nobody outside of transactions', async () => {
    const [batch] = await decodeBatches(await encodeBatch(messages, null, null), 0, unpack);
    expect(batch).toMatchObject({ producerId: '-1', inTransaction: false });
  });

  test('of another client may have neither key nor value, and a time of the broker', async () => {
    const record = recordThere({ offsetDelta: 0, timestampDelta: 4, key: null, value: null });
    const { buffer } = await encodeThere({ firstTimestamp: 1, maxTimestamp: 9, records: [record] });
    const own = await decodeBatches(buffer, 0, unpack);
    expect(own[0]!.records[0]).toMatchObject({ key: '', value: NO_BYTES, atMs: 5 });
    buffer.writeInt16BE(0x08, 21); // the broker's time counts
    const brokers = await decodeBatches(buffer, 0, unpack);
    expect(brokers[0]!.records[0]!.atMs).toBe(9);
  });

  test('is left out when it is cut short, with what was whole before it', async () => {
    const whole = await encodeBatch(messages.slice(0, 3), owner, null);
    const both = Buffer.concat([whole, whole]);
    for (const length of [both.length, both.length - 1, whole.length + 30, whole.length]) {
      const read = await decodeBatches(both.subarray(0, length), 0, unpack);
      expect(read).toHaveLength(length === both.length ? 2 : 1);
    }
  });

  test('fails where its records do not end within it', async () => {
    const bytes = await encodeBatch(messages.slice(0, 1), owner, null);
    bytes.writeInt32BE(50, 57); // so many records, it says
    await expect(decodeBatches(bytes, 0, unpack)).rejects.toMatchObject({ code: 'KAFKA' });
  });

  test('of an older format is refused', async () => {
    const bytes = await encodeBatch(messages.slice(0, 1), owner, null);
    bytes.writeInt8(1, 16);
    await expect(decodeBatches(bytes, 0, unpack)).rejects.toThrow(/format 1; millrace reads/);
  });
});
