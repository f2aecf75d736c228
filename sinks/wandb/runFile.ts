/**
 * The file that `wandb sync` reads (`run-ID.wandb`, version 0): a log of 32 kB blocks as in LevelDB, with
 * CRC-32, of protocol-buffer records.
 */
import { crc32 } from '../../base/index.ts';
import { bytesField, varint } from '../outside/proto.ts';

/** The first bytes of a file. */
export const FILE_HEAD = Buffer.from([0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0]);

const BLOCK = 32_768;
const HEAD = 7;
const NOTHING: Buffer = Buffer.alloc(0);
/** A part of a record: the whole, the first, a middle or the last one. */
const PART = { all: 1, first: 2, between: 3, last: 4 } as const;

/** A record encoded for this place in the file. */
export function framed(record: Buffer, at: number): Buffer {
  const pieces: Buffer[] = [];
  let [rest, place, first] = [record, at, true];
  do {
    let room = BLOCK - (place % BLOCK);
    if (room < HEAD) {
      pieces.push(Buffer.alloc(room));
      place += room;
      room = BLOCK;
    }
    const data = rest.subarray(0, room - HEAD);
    rest = rest.subarray(data.length);
    const kind = partOf(first, rest.length === 0);
    const head = Buffer.alloc(HEAD);
    head.writeUInt32LE(checksum(kind, data));
    head.writeUInt16LE(data.length, 4);
    head.writeUInt8(kind, 6);
    pieces.push(head, data);
    place += HEAD + data.length;
    first = false;
  } while (rest.length > 0);
  return Buffer.concat(pieces);
}

function partOf(first: boolean, last: boolean): number {
  if (first) return last ? PART.all : PART.first;
  return last ? PART.last : PART.between;
}

function checksum(kind: number, data: Buffer): number {
  const ofKind = crc32(Buffer.from([kind]), 0);
  // zlib takes an empty buffer without memory as a request to start over.
  return data.length === 0 ? ofKind : crc32(data, ofKind);
}

/** The records of a file up to the first incomplete one, each with the place after it. */
export function* recordsIn(
  file: Buffer,
): Generator<{ readonly record: Buffer; readonly end: number }> {
  if (!file.subarray(0, FILE_HEAD.length).equals(FILE_HEAD)) return;
  let parts: Buffer[] = [];
  for (let at = FILE_HEAD.length; at + HEAD <= file.length; ) {
    const room = BLOCK - (at % BLOCK);
    if (room < HEAD) {
      at += room;
      continue;
    }
    const length = file.readUInt16LE(at + 4);
    const kind = file.readUInt8(at + 6);
    const data = file.subarray(at + HEAD, at + HEAD + length);
    if (data.length < length || checksum(kind, data) !== file.readUInt32LE(at)) return;
    at += HEAD + length;
    parts = kind === PART.all || kind === PART.first ? [data] : [...parts, data];
    if (kind === PART.all || kind === PART.last) yield { record: Buffer.concat(parts), end: at };
  }
}

/** Numbers of the kinds of records. */
export const KIND = { history: 2, summary: 3, metric: 12, run: 17, exit: 18, header: 21 } as const;
const NUMBER = 1;

export function recordOf(
  number: number,
  kind: number,
  body: Buffer,
  more: Buffer = NOTHING,
): Buffer {
  const numbered = Buffer.concat([varint(NUMBER * 8), varint(number)]);
  return Buffer.concat([numbered, bytesField(kind, body), more]);
}

/**
 * An entry of a history, a summary or a configuration: a name and a value as JSON. `key` is the number of the
 * field of the name.
 */
export function item(name: string, value: unknown, key: number): Buffer {
  return Buffer.concat([bytesField(key, name), bytesField(16, jsonOf(value))]);
}

/** JSON, with W&B's spelling of numbers that JSON lacks. */
function jsonOf(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
  }
  return JSON.stringify(value) ?? 'null';
}
