/**
 * Events as TensorBoard reads them from a file: records of TensorFlow's format (length, masked CRC-32C of it,
 * body, masked CRC-32C of that), each an `Event`.
 *
 * An event also says which record it was made of, in fields of numbers that TensorFlow does not use and every
 * reader skips: so a file itself says how far it goes, and there is nothing else that could
 * disagree.
 */
import { crc32c } from '../../base/index.ts';
import type { Stored } from '../../streams/index.ts';
import type { Metric, Position } from '../../topics/index.ts';
import { bytesField, doubleField, fieldsOf, floatField, wholeField } from '../outside/proto.ts';

/** Numbers of our own fields in an event. */
const OURS = { partition: 20_001, offset: 20_002, atMs: 20_003, startedMs: 20_004 } as const;

/** What our events say about themselves. */
export interface Origin {
  /** The record that it was made from; null if there is none. */
  readonly position: Position | null;
  readonly atMs: number;
  /** The run; only in the first event of a file, otherwise null. */
  readonly startedMs: number | null;
}

/** The first event of every file. */
export function fileEvent(startedMs: number, nowMs: number): Buffer {
  return framed(
    doubleField(1, nowMs / 1000),
    bytesField(3, 'brain.Event:2'),
    wholeField(OURS.startedMs, startedMs),
  );
}

/** A number of a step, at the time of its record. */
export function scalarEvent({ value: metric, position, atMs }: Stored<Metric>): Buffer {
  const { name, step, value } = metric;
  return framed(
    doubleField(1, atMs / 1000),
    wholeField(2, Math.max(0, step)),
    bytesField(5, bytesField(1, Buffer.concat([bytesField(1, name), floatField(2, value)]))),
    wholeField(OURS.partition, position.partition),
    wholeField(OURS.offset, position.offset),
    wholeField(OURS.atMs, Math.floor(atMs)),
  );
}

const DATA_CLASS_TENSOR = 2;
const DT_STRING = 7;

/** A text, which TensorBoard shows as Markdown. */
export function textEvent(tag: string, text: string, atMs: number): Buffer {
  const metadata = Buffer.concat([
    bytesField(1, bytesField(1, 'text')),
    wholeField(4, DATA_CLASS_TENSOR),
  ]);
  const tensor = Buffer.concat([wholeField(1, DT_STRING), bytesField(2, ''), bytesField(8, text)]);
  const value = Buffer.concat([bytesField(1, tag), bytesField(8, tensor), bytesField(9, metadata)]);
  return framed(doubleField(1, atMs / 1000), wholeField(2, 0), bytesField(5, bytesField(1, value)));
}

/** The marks of a file's events, up to the first that is incomplete (after a crash) or is not an event. */
export function* originsIn(file: Buffer): Generator<Origin> {
  for (let at = 0; at + HEAD + TAIL <= file.length; ) {
    const head = file.subarray(at, at + 8);
    const bytes = Number(head.readBigUInt64LE());
    const end = at + HEAD + bytes;
    if (end + TAIL > file.length) return;
    const body = file.subarray(at + HEAD, end);
    if (masked(head) !== file.readUInt32LE(at + 8) || masked(body) !== file.readUInt32LE(end))
      return;
    yield originOf(body);
    at = end + TAIL;
  }
}

const HEAD = 12;
const TAIL = 4;

function originOf(body: Buffer): Origin {
  const fields = fieldsOf(body).wholes;
  const offset = fields.get(OURS.offset);
  const partition = fields.get(OURS.partition) ?? 0;
  return {
    position: offset === undefined ? null : { partition, offset },
    atMs: fields.get(OURS.atMs) ?? 0,
    startedMs: fields.get(OURS.startedMs) ?? null,
  };
}

function framed(...fields: readonly Buffer[]): Buffer {
  const body = Buffer.concat(fields);
  const frame = Buffer.alloc(HEAD + body.length + TAIL);
  frame.writeBigUInt64LE(BigInt(body.length));
  frame.writeUInt32LE(masked(frame.subarray(0, 8)), 8);
  body.copy(frame, HEAD);
  frame.writeUInt32LE(masked(body), HEAD + body.length);
  return frame;
}

/** Masks a checksum, since checksums of data that contain checksums are weak. */
function masked(bytes: Buffer): number {
  const crc = crc32c(bytes, 0);
  return (((crc >>> 15) | (crc << 17)) + 0xa282_ead8) >>> 0;
}
