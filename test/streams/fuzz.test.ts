/**
 * 100,000 damaged records to the readers of every topic, of this version and of the older ones: each is
 * decoded or refused with an error of ours, none hangs, and memory stays where it is. `FUZZ_RECORDS` asks for
 * another number.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type Draws, draws } from '../../base/draws.ts';
import { MillraceError } from '../../base/errors.ts';
import { walkerOf } from '../../streams/contracts/avroBounds.ts';
import { avroCodec } from '../../streams/contracts/codec.ts';
import { list, record, text } from '../../streams/contracts/shapes.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../topics/index.ts';
import { samples } from '../support/records.ts';

const RECORDS = Number(process.env.FUZZ_RECORDS ?? 20_000);
/** Bytes of the heap that the reading of one record may take. */
const GROWN_MAX = 32e6;
const FIXTURES = new URL('./fixtures/', import.meta.url).pathname;

interface Reader {
  readonly name: string;
  readonly topic: Topic<unknown>;
  readonly read: (bytes: Buffer) => unknown;
  /** Records that are whole. */
  readonly seeds: readonly Buffer[];
}

const fixtures = readdirSync(FIXTURES).filter((file) => /\.v\d+\.json$/.test(file));

const own: readonly Reader[] = Object.entries(topics).flatMap(([key, topic]) => {
  const known = samples[key as keyof typeof samples];
  if (known === undefined) return [];
  const of = topic as unknown as Topic<unknown>;
  const seeds = Object.values(known).map((value) => of.codec.encode(value));
  return [{ name: of.name, topic: of, read: (bytes) => of.codec.decode(bytes), seeds }];
});

const older: readonly Reader[] = fixtures.map((file) => {
  const fixture = JSON.parse(readFileSync(join(FIXTURES, file), 'utf8')) as {
    readonly topic: string;
    readonly schema: unknown;
    readonly bytes: string;
  };
  const topic = Object.values(topics).find(
    ({ name }) => name === fixture.topic,
  ) as unknown as Topic<unknown>;
  const seeds = [Buffer.from(fixture.bytes, 'hex')];
  return { name: file, topic, read: topic.codec.reading(fixture.schema), seeds };
});

const readers = [...own, ...older].filter(({ seeds }) => seeds.length > 0);

/** Bytes that begin numbers, counts and lengths of every size. */
const TELLING = [0x00, 0x01, 0x02, 0x7f, 0x80, 0xff, 0xfe];

/** A damaged copy: one to eight of the things that happen to bytes. */
function damaged(whole: Buffer, other: Buffer, chance: Draws): Buffer {
  let bytes = Buffer.from(whole);
  let drawn = 0;
  const below = (limit: number): number => chance.integer(drawn++, Math.max(1, limit));
  const times = 1 + below(8);
  for (let i = 0; i < times; i++) {
    const at = below(bytes.length);
    switch (below(6)) {
      case 0:
        if (bytes.length > 0) bytes[at]! ^= 1 << below(8);
        break;
      case 1:
        if (bytes.length > 0) bytes[at] = TELLING[below(TELLING.length)]!;
        break;
      case 2:
        bytes = bytes.subarray(0, at);
        break;
      case 3: {
        const length = 1 + below(12);
        const more = Array.from({ length }, () => TELLING[below(TELLING.length)]!);
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(more), bytes.subarray(at)]);
        break;
      }
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + below(16))]);
        break;
      default:
        bytes = Buffer.concat([bytes.subarray(0, at), other.subarray(below(other.length))]);
    }
  }
  return bytes;
}

describe('damaged records', () => {
  test('are decoded or refused, in bounded memory', () => {
    let [decoded, refused, grownMax] = [0, 0, 0];
    const strange: string[] = [];
    for (let i = 0; i < RECORDS; i++) {
      const chance = draws('fuzz', i);
      const reader = readers[i % readers.length]!;
      const pick = (place: number) => reader.seeds[chance.integer(place, reader.seeds.length)]!;
      const bytes = damaged(pick(1_000), pick(1_001), chance);
      const before = process.memoryUsage().heapUsed;
      try {
        const value = reader.read(bytes);
        // What is decoded has the topic's shape: a reader may rely on that.
        reader.topic.identity(value);
        reader.topic.moment(value);
        reader.topic.references?.(value);
        decoded += 1;
      } catch (error) {
        refused += 1;
        if (!(error instanceof MillraceError) || error.code !== 'DECODE') {
          strange.push(`${i} ${reader.name} ${bytes.toString('hex')}: ${error}`);
        }
      }
      // Of one record: what else is on this process's heap is other tests'.
      grownMax = Math.max(grownMax, process.memoryUsage().heapUsed - before);
    }
    expect(strange.slice(0, 3)).toEqual([]);
    expect(decoded + refused).toBe(RECORDS);
    expect(decoded).toBeGreaterThan(RECORDS / 50);
    expect(refused).toBeGreaterThan(RECORDS / 4);
    expect(grownMax).toBeLessThan(GROWN_MAX);
  });

  test('are made of every topic', () => {
    expect(new Set(readers.map(({ topic }) => topic.name)).size).toBe(Object.keys(topics).length);
  });
});

describe('a count that no bytes follow', () => {
  const shape = record('Names', { names: list(text) });
  const codec = avroCodec('names', shape);
  /** Zigzag of 2^52, then nothing. */
  const huge = Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]);

  test('is refused at once, with the field', () => {
    expect(() => codec.decode(huge)).toThrow(
      /names: a record of 8 bytes does not decode in field names/,
    );
  });

  test('is refused even if items take no bytes', () => {
    const walker = walkerOf({ type: 'array', items: 'null' });
    expect(() => walker({ bytes: huge, at: 0 })).toThrow(RangeError);
    const few = { bytes: Buffer.from([8, 0]), at: 0 };
    walker(few);
    expect(few.at).toBe(2);
  });
});
