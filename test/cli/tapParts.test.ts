import { describe, expect, it } from '@jest/globals';
import { pickFields, withEnvelope } from '../../cli/tap/fields.ts';
import { formatOf } from '../../cli/tap/formats.ts';
import { parseFrom } from '../../cli/tap/from.ts';
import { plain } from '../../cli/tap/plain.ts';
import { where } from '../../cli/tap/where.ts';
import type { From, Stored } from '../../streams/log.ts';

function stored(value: unknown, offset = 3): Stored<unknown> {
  return {
    topic: 'rollouts',
    position: { partition: 0, offset },
    key: 'k-1',
    value,
    atMs: 0,
    bytes: 9,
  };
}

describe('--from', () => {
  const now = 10_000_000;
  it.each<[string, From]>([
    ['earliest', { kind: 'earliest' }],
    ['latest', { kind: 'latest' }],
    ['120', { kind: 'offset', offset: 120 }],
    ['-100', { kind: 'last', count: 100 }],
    ['15m', { kind: 'time', atMs: now - 900_000 }],
    ['1.5h', { kind: 'time', atMs: now - 5_400_000 }],
    ['@1000', { kind: 'time', atMs: 1000 }],
    ['@1970-01-01T00:00:05Z', { kind: 'time', atMs: 5000 }],
  ])('%s is understood', (text, expected) => {
    expect(parseFrom(text, now)).toEqual(expected);
  });

  it.each(['yesterday', '15', '5w', '@never', ''].filter((text) => text !== '15'))(
    'refuses %j and says what it takes',
    (text) => {
      expect(() => parseFrom(text, now)).toThrow(/--from takes earliest, latest/);
    },
  );
});

describe('--where', () => {
  it('sees the record, its key and its place', () => {
    const filter = where("v.calls > 1 && k === 'k-1' && t === 'rollouts' && p === 0 && o === 3");
    expect(filter.matches(stored({ calls: 2 }))).toBe(true);
    expect(filter.matches(stored({ calls: 1 }))).toBe(false);
    expect(filter.matches(stored({ calls: 2 }, 4))).toBe(false);
  });

  it('matches no record on which it fails, and counts them', () => {
    const filter = where('v.inner.score > 0');
    expect(filter.matches(stored({}))).toBe(false);
    expect(filter.matches(stored({}, 4))).toBe(false);
    expect(filter.matches(stored({ inner: { score: 1 } }))).toBe(true);
    expect(filter.failures()).toEqual({
      count: 2,
      first: expect.stringMatching(/^rollouts offset 3: Cannot read/),
    });
  });

  it('takes a comment at its end', () => {
    expect(where('v.a // all').matches(stored({ a: 1 }))).toBe(true);
  });

  it('refuses what is no expression', () => {
    expect(() => where('v.a >')).toThrow(/--where is no JavaScript expression/);
  });
});

describe('--fields', () => {
  const record = { id: 'r', question: { id: 'q' }, rewards: [{ score: 1 }, { score: 2 }] };

  it('reach into groups, single members, every member, and the envelope', () => {
    const pick = pickFields(
      'id,question.id,rewards.1.score,rewards.score,none.at.all,$topic,$partition,$offset,$key,$at',
    );
    expect(pick(stored(record))).toEqual({
      id: 'r',
      'question.id': 'q',
      'rewards.1.score': 2,
      'rewards.score': [1, 2],
      'none.at.all': null,
      $topic: 'rollouts',
      $partition: 0,
      $offset: 3,
      $key: 'k-1',
      $at: '1970-01-01T00:00:00.000Z',
    });
  });

  it('refuse an empty name', () => {
    expect(() => pickFields('a,,b')).toThrow(/--fields takes names between commas/);
  });
});

describe('a record', () => {
  const tensors = {
    ids: Int32Array.from([1, 2]),
    probs: Float32Array.from([0.5]),
    far: Number.POSITIVE_INFINITY,
  };

  it('is plain JSON with arrays in full, losing no number', () => {
    expect(plain(tensors)).toEqual({ ids: [1, 2], probs: [0.5], far: 'Infinity' });
  });

  it('is one line of ndjson, with its envelope when asked', async () => {
    expect(await formatOf('ndjson', null, false)(stored(tensors))).toBe(
      '{"ids":[1,2],"probs":[0.5],"far":"Infinity"}\n',
    );
    expect(JSON.parse(await formatOf('ndjson', null, true)(stored('x')))).toEqual(
      plain(withEnvelope(stored('x'))),
    );
  });

  it('is a CSV line under one header, nested parts as JSON', async () => {
    const format = formatOf('csv', null, false);
    expect(await format(stored({ a: 'x, "y"', b: [1], c: null }))).toBe('a,b,c\n"x, ""y""",[1],\n');
    expect(await format(stored({ a: 'two\nlines', b: [], c: 1 }))).toBe('"two\nlines",[],1\n');
  });

  it('is pretty with long arrays cut and control characters made visible', async () => {
    const value = {
      ids: Int32Array.from({ length: 2000 }, (_, n) => n),
      text: 'red \u001b[31m\nsecond',
      parts: [{ a: 1 }],
    };
    expect(await formatOf('pretty', null, false)(stored(value))).toBe(
      [
        'rollouts@3  k-1  1970-01-01T00:00:00.000Z',
        '  ids: Int32[2000] 0 1 2 3 4 5 6 7 8 9 10 11 …',
        '  text:',
        '    │ red \\u001b[31m',
        '    │ second',
        '  parts: 1',
        '    - { a: 1 }',
        '',
      ].join('\n'),
    );
  });
});
