import { describe, expect, test } from '@jest/globals';
import { avroCodec } from '../../streams/contracts/codec.ts';
import {
  choice,
  int32s,
  list,
  map,
  nullable,
  real,
  record,
  type Shape,
  schemaOf,
  text,
  type ValueOf,
  whole,
  withDefault,
} from '../../streams/contracts/shapes.ts';
import { topics } from '../../topics/index.ts';
import { question, rollout, samples } from '../support/records.ts';

const old = record('Thing', { id: text, count: whole });
const bytesOf = <T>(shape: Shape<T>, value: T): Buffer => avroCodec('things', shape).encode(value);

/** Fails to compile unless both types are the same. */
const sameType = <A, B>(same: [A, B] extends [B, A] ? true : never): boolean => same;

test('the shape of a topic gives the TypeScript type of its records', () => {
  const note = record('Note', { kind: choice('Kind', ['a', 'b']), stars: nullable(list(whole)) });
  type Note = { readonly kind: 'a' | 'b'; readonly stars: readonly number[] | null };
  sameType<ValueOf<typeof note>, Note>(true);
  const annotated: Shape<Note> = note;
  // @ts-expect-error: a field of the type is missing from the shape
  const short: Shape<Note> = record('Note', { stars: nullable(list(whole)) });
  // @ts-expect-error: the shape takes less than the type says
  const narrow: Shape<{ readonly kind: string }> = record('Kind', { kind: choice('Kind', ['a']) });
  expect([annotated, short, narrow].map((shape) => typeof shape.render)).toEqual(
    Array(3).fill('function'),
  );
});

describe('decoding', () => {
  test('names topic and field when the bytes end early', () => {
    const bytes = topics.rollouts.codec.encode(samples.rollouts.full);
    const decode = (): unknown => topics.rollouts.codec.decode(bytes.subarray(0, -9));
    expect(decode).toThrow(
      /^rollouts: .* does not decode in field session: the bytes end in the middle of the value/,
    );
    expect(decode).toThrow(expect.objectContaining({ code: 'DECODE' }));
  });

  test('names a packed field in which the bytes end', () => {
    const codec = avroCodec('packs', record('Packed', { a: int32s }));
    const bytes = codec.encode({ a: Int32Array.of(1, 2) });
    expect(() => codec.decode(bytes.subarray(0, 5))).toThrow(/in field a: the bytes end/);
  });

  test('names the field whose bytes make no sense', () => {
    const codec = avroCodec(
      'things',
      record('Thing', {
        id: text,
        kind: choice('Kind', ['a', 'b']),
        n: whole,
      }),
    );
    const bytes = codec.encode({ id: 'x', kind: 'b', n: 7 });
    bytes[2] = 40; // the twentieth of two symbols
    expect(() => codec.decode(bytes)).toThrow(
      expect.objectContaining({
        code: 'DECODE',
        context: expect.objectContaining({ field: 'kind' }),
      }),
    );
  });

  test('does not accept bytes after the last field', () => {
    const bytes = topics.metrics.codec.encode(samples.metrics.full);
    const decode = (): unknown => topics.metrics.codec.decode(Buffer.concat([bytes, bytes]));
    expect(decode).toThrow(/after its last field/);
  });

  test('refuses a packed array that is cut within an element', () => {
    const cut = bytesOf(record('Packed', { a: text }), { a: '12345' });
    const codec = avroCodec('packs', record('Packed', { a: int32s }));
    expect(() => codec.decode(cut)).toThrow(/field a.*not a multiple of 4/);
  });

  test('copies arrays, so that the bytes may be reused', () => {
    const bytes = topics.rollouts.codec.encode(samples.rollouts.full);
    const { tokens } = topics.rollouts.codec.decode(bytes);
    bytes.fill(0);
    expect(tokens).toEqual(samples.rollouts.full.tokens);
  });
});

describe('encoding', () => {
  test('names topic and field of a value that breaks the contract', () => {
    const encode = (over: object) => (): unknown =>
      topics.rollouts.codec.encode({ ...rollout(), ...over } as never);
    expect(encode({ question: { ...question(), ability: 'chess' } })).toThrow(
      /^rollouts: .*question\.ability is "chess"/,
    );
    expect(encode({ tokens: [1, 2] })).toThrow(/tokens is Array/);
    expect(encode({ tokens: Float32Array.of(1) })).toThrow(/tokens is Float32Array/);
    expect(encode({ seed: undefined })).toThrow(/seed is missing/);
    expect(encode({ seed: 0.5 })).toThrow(
      expect.objectContaining({ code: 'ENCODE', context: { topic: 'rollouts', field: 'seed' } }),
    );
  });

  test('writes only the elements that a typed array views', () => {
    const all = Int32Array.of(1, 2, 3, 4, 5);
    const value = rollout({ tokens: all.subarray(1, 3) });
    const back = topics.rollouts.codec.decode(topics.rollouts.codec.encode(value));
    expect(back.tokens).toEqual(Int32Array.of(2, 3));
  });

  test('keeps every double, and maps with any key', () => {
    const shape = record('Doubles', {
      values: list(real),
      parts: map(real),
      none: nullable(real),
    });
    const codec = avroCodec('doubles', shape);
    const value = {
      values: [Infinity, -Infinity, NaN, -0, 5e-324],
      parts: { '': 1, 'a b': 2, ü: -3 },
      none: null,
    };
    expect(codec.decode(codec.encode(value))).toEqual(value);
  });
});

describe('reading an older contract', () => {
  test('fills added fields with their defaults', () => {
    const now = record('Thing', {
      id: text,
      count: whole,
      tags: withDefault(list(text), []),
      note: withDefault(nullable(text), null),
    });
    const read = avroCodec('things', now).reading(schemaOf(old as Shape<unknown>));
    const bytes = bytesOf(old, { id: 'x', count: 3 });
    expect(read(bytes)).toEqual({ id: 'x', count: 3, tags: [], note: null });
  });

  test('drops removed fields, packed ones too', () => {
    const before = record('Thing', { tokens: int32s, id: text, count: whole });
    const read = avroCodec('things', old).reading(schemaOf(before as Shape<unknown>));
    const bytes = bytesOf(before, { id: 'x', count: 3, tokens: Int32Array.of(9) });
    expect(read(bytes)).toEqual({ id: 'x', count: 3 });
  });

  test('keeps packed fields packed', () => {
    const before = record('Thing', { tokens: int32s });
    const now = record('Thing', { id: withDefault(text, '?'), tokens: int32s });
    const read = avroCodec('things', now).reading(schemaOf(before as Shape<unknown>));
    const tokens = Int32Array.of(-1, 5);
    expect(read(bytesOf(before, { tokens }))).toEqual({ id: '?', tokens });
  });

  test('says why it cannot', () => {
    const now = record('Thing', {
      id: text,
      count: whole,
      extra: real,
    });
    const schema = schemaOf(old as Shape<unknown>);
    const reading = (): unknown => avroCodec('things', now).reading(schema);
    expect(reading).toThrow(
      /^things: this version cannot read.*extra is new and has no default.*withDefault/,
    );
    expect(reading).toThrow(expect.objectContaining({ code: 'SCHEMA' }));
    const retyped = record('Thing', {
      id: text,
      count: text,
    });
    expect(() => avroCodec('things', retyped).reading(schema)).toThrow(/count|long|string/);
  });

  test('names the field of the older contract when the bytes are broken', () => {
    const now = record('Thing', {
      extra: withDefault(real, 0),
      id: text,
      count: whole,
    });
    const read = avroCodec('things', now).reading(schemaOf(old as Shape<unknown>));
    const bytes = bytesOf(old, { id: 'abc', count: 3 });
    expect(() => read(bytes.subarray(0, 2))).toThrow(/in field id/);
  });
});
