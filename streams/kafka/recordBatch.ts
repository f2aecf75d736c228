/**
 * Batches of records as they lie in a partition (format 2): written into one buffer, read without copying.
 *
 * kafkajs makes several buffers a record and counts in 64-bit objects, which was most of what a commit of
 * small records cost. Offsets and times are plain numbers here: both stay far below 2^53.
 */
import { MillraceError } from '../../base/errors.ts';
import { crc32c } from './crc32c.ts';

export interface Message {
  readonly key: string;
  /** What the value begins with; many messages share it. */
  readonly lead: Buffer;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly timestamp: number;
}

/** Whose records they are; absent outside of transactions. */
export interface BatchOwner {
  readonly producerId: string;
  readonly producerEpoch: number;
  /** Number of the first record among those of this producer in this partition. */
  readonly firstSequence: number;
}

/** How records are packed: a number of the protocol, and what does it (null: as they are). */
export interface Packing {
  readonly code: number;
  pack(bytes: Buffer): Promise<Buffer>;
}

/** A record as it came, its value not decoded. */
export interface Raw {
  readonly partition: number;
  readonly offset: number;
  readonly atMs: number;
  readonly key: string;
  readonly value: Buffer;
  /** The bytes that it lies in, and where its headers begin: see `headersOf`. */
  readonly within: Buffer;
  readonly headersAt: number;
  /** Who wrote it; the records of a commit have one. */
  readonly producerId: string;
}

export interface RawBatch {
  readonly lastOffset: number;
  readonly producerId: string;
  readonly inTransaction: boolean;
  /** It holds the mark of a transaction's end, and no record of anyone. */
  readonly isControl: boolean;
  readonly records: readonly Raw[];
}

/** Unpacks by the number of the protocol. */
export type Unpack = (code: number, bytes: Buffer) => Promise<Buffer>;

export const NO_BYTES: Buffer = Buffer.alloc(0);

const MAGIC = 2;
const HEADER_BYTES = 61;
/** Of offset and length, which the length does not count. */
const BEFORE_LENGTH = 12;
const AT = {
  ...{ offset: 0, length: 8, leaderEpoch: 12, magic: 16, crc: 17, attributes: 21, lastDelta: 23 },
  ...{ firstTime: 27, maxTime: 35, producerId: 43, epoch: 51, sequence: 53, count: 57 },
} as const;
const COMPRESSION = 0x07;
const LOG_APPEND_TIME = 0x08;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;
const NOBODY: BatchOwner = { producerId: '-1', producerEpoch: -1, firstSequence: -1 };

export async function encodeBatch(
  messages: readonly Message[],
  owner: BatchOwner | null,
  packing: Packing | null,
): Promise<Buffer> {
  const firstMs = messages[0]!.timestamp;
  const batch =
    packing === null
      ? records(messages, firstMs, HEADER_BYTES)
      : Buffer.concat([
          Buffer.alloc(HEADER_BYTES),
          await packing.pack(records(messages, firstMs, 0)),
        ]);
  const { producerId, producerEpoch, firstSequence } = owner ?? NOBODY;
  batch.writeBigInt64BE(0n, AT.offset);
  batch.writeInt32BE(batch.length - BEFORE_LENGTH, AT.length);
  batch.writeInt32BE(-1, AT.leaderEpoch);
  batch.writeInt8(MAGIC, AT.magic);
  batch.writeInt16BE((packing?.code ?? 0) | (owner === null ? 0 : TRANSACTIONAL), AT.attributes);
  batch.writeInt32BE(messages.length - 1, AT.lastDelta);
  batch.writeBigInt64BE(BigInt(firstMs), AT.firstTime);
  const maxMs = messages.reduce((max, { timestamp }) => Math.max(max, timestamp), firstMs);
  batch.writeBigInt64BE(BigInt(maxMs), AT.maxTime);
  batch.writeBigInt64BE(BigInt(producerId), AT.producerId);
  batch.writeInt16BE(producerEpoch, AT.epoch);
  batch.writeInt32BE(firstSequence, AT.sequence);
  batch.writeInt32BE(messages.length, AT.count);
  batch.writeUInt32BE(crc32c(batch, AT.attributes), AT.crc);
  return batch;
}

/** All records, behind `from` bytes that are left free. */
function records(messages: readonly Message[], firstMs: number, from: number): Buffer {
  const headers = new Map<object, Buffer>();
  for (const message of messages) {
    if (!headers.has(message.headers)) headers.set(message.headers, headerBytes(message.headers));
  }
  const sizes = messages.map((message, i) => {
    const keyBytes = Buffer.byteLength(message.key);
    const valueBytes = message.lead.length + message.value.length;
    return (
      1 + // attributes, of which there are none
      numberSize(message.timestamp - firstMs) +
      numberSize(i) +
      numberSize(keyBytes) +
      keyBytes +
      numberSize(valueBytes) +
      valueBytes +
      headers.get(message.headers)!.length
    );
  });
  const bytes = Buffer.allocUnsafe(
    sizes.reduce((sum, size) => sum + numberSize(size) + size, from),
  );
  let at = from;
  messages.forEach((message, i) => {
    const { key, lead, value, timestamp } = message;
    at = writeNumber(bytes, sizes[i]!, at);
    bytes[at++] = 0;
    at = writeNumber(bytes, timestamp - firstMs, at);
    at = writeNumber(bytes, i, at);
    at = writeNumber(bytes, Buffer.byteLength(key), at);
    at += bytes.write(key, at);
    at = writeNumber(bytes, lead.length + value.length, at);
    at += lead.copy(bytes, at);
    at += value.copy(bytes, at);
    at += headers.get(message.headers)!.copy(bytes, at);
  });
  return bytes;
}

function headerBytes(headers: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(headers).map((pair) => pair.map((text) => Buffer.from(text)));
  const sized = entries.flat();
  const size = sized.reduce(
    (sum, text) => sum + numberSize(text.length) + text.length,
    numberSize(entries.length),
  );
  const bytes = Buffer.allocUnsafe(size);
  let at = writeNumber(bytes, entries.length, 0);
  for (const text of sized) at = writeBytes(bytes, text, at);
  return bytes;
}

/** The batches of a partition's answer; the last may be cut short, and is left out then. */
export async function decodeBatches(
  bytes: Buffer,
  partition: number,
  unpack: Unpack,
): Promise<readonly RawBatch[]> {
  const batches: RawBatch[] = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const end = at + BEFORE_LENGTH + bytes.readInt32BE(at + AT.length);
    if (end > bytes.length) break;
    batches.push(await decodeBatch(bytes.subarray(at, end), partition, unpack));
    at = end;
  }
  return batches;
}

async function decodeBatch(batch: Buffer, partition: number, unpack: Unpack): Promise<RawBatch> {
  const magic = batch.readInt8(AT.magic);
  if (magic !== MAGIC) {
    throw new MillraceError(
      'KAFKA',
      `the broker keeps records in format ${magic}; millrace reads format ${MAGIC} (Kafka 0.11 and newer)`,
    );
  }
  const first = Number(batch.readBigInt64BE(AT.offset));
  const attributes = batch.readInt16BE(AT.attributes);
  const packed = attributes & COMPRESSION;
  const body = batch.subarray(HEADER_BYTES);
  const producerId = String(batch.readBigInt64BE(AT.producerId));
  return {
    lastOffset: first + batch.readInt32BE(AT.lastDelta),
    producerId,
    inTransaction: (attributes & TRANSACTIONAL) !== 0,
    isControl: (attributes & CONTROL) !== 0,
    records: decodeRecords(packed === 0 ? body : await unpack(packed, body), {
      ...{ count: batch.readInt32BE(AT.count), partition, first, producerId },
      firstMs: Number(batch.readBigInt64BE(AT.firstTime)),
      maxMs: (attributes & LOG_APPEND_TIME) === 0 ? null : Number(batch.readBigInt64BE(AT.maxTime)),
    }),
  };
}

interface Of {
  readonly count: number;
  readonly partition: number;
  readonly first: number;
  readonly producerId: string;
  readonly firstMs: number;
  /** Null: each record has a time of its own. */
  readonly maxMs: number | null;
}

function decodeRecords(within: Buffer, of: Of): Raw[] {
  const { count, partition, first, producerId, firstMs, maxMs } = of;
  const cursor = { bytes: within, at: 0 };
  const records: Raw[] = [];
  for (let i = 0; i < count; i++) {
    const size = readNumber(cursor);
    const end = cursor.at + size;
    cursor.at += 1; // attributes
    const delta = readNumber(cursor);
    const offset = first + readNumber(cursor);
    const key = readText(cursor);
    const value = readBytes(cursor);
    const atMs = maxMs ?? firstMs + delta;
    const headersAt = cursor.at;
    records.push({ partition, offset, atMs, key, value, within, headersAt, producerId });
    cursor.at = end;
  }
  return records;
}

/** The headers of a record; of several by one name the last. */
export function headersOf({
  within,
  headersAt,
}: Pick<Raw, 'within' | 'headersAt'>): ReadonlyMap<string, string> {
  const cursor = { bytes: within, at: headersAt };
  const found = new Map<string, string>();
  for (let left = readNumber(cursor); left > 0; left--) {
    const name = readText(cursor);
    found.set(name, readText(cursor));
  }
  return found;
}

interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

function writeBytes(bytes: Buffer, value: Buffer, at: number): number {
  const from = writeNumber(bytes, value.length, at);
  return from + value.copy(bytes, from);
}

/** Empty where there are none. */
function readBytes(cursor: Cursor): Buffer {
  const length = readNumber(cursor);
  if (length <= 0) return NO_BYTES;
  const from = cursor.at;
  cursor.at += length;
  return cursor.bytes.subarray(from, cursor.at);
}

function readText(cursor: Cursor): string {
  const length = readNumber(cursor);
  if (length <= 0) return '';
  const from = cursor.at;
  cursor.at += length;
  return cursor.bytes.toString('utf8', from, cursor.at);
}

/** Zigzag: whole numbers of either sign, seven bits a byte, the lowest first. */
const zigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);

function numberSize(value: number): number {
  let size = 1;
  for (let rest = zigzag(value); rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
  return size;
}

function writeNumber(bytes: Buffer, value: number, from: number): number {
  let at = from;
  let rest = zigzag(value);
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
  bytes[at++] = rest;
  return at;
}

function readNumber(cursor: Cursor): number {
  let value = 0;
  let scale = 1;
  for (;;) {
    const byte = cursor.bytes[cursor.at++];
    if (byte === undefined) throw new MillraceError('KAFKA', 'a batch of records ends too early');
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
    scale *= 0x80;
  }
}
