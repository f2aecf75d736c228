import { describe, expect, it } from '@jest/globals';
import { plain } from '../../base/terminal/plain.ts';
import { diff } from '../../cli/tap/diff.ts';
import { pickFields, withEnvelope } from '../../cli/tap/fields.ts';
import { grep, keyIs, where } from '../../cli/tap/filters.ts';
import { type FormatOptions, formatOf } from '../../cli/tap/formats.ts';
import { parseFrom, parsePartitions, parseTo } from '../../cli/tap/range.ts';
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

const options: FormatOptions = {
  envelope: null,
  truncate: 2000,
  partsBy: null,
};

function print(name: string, value: unknown, over: Partial<FormatOptions> = {}): string {
  return formatOf(name, { ...options, ...over })(1)(stored(value), value) as string;
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

describe('--to', () => {
  it.each<[string, From]>([
    ['latest', { kind: 'latest' }],
    ['120', { kind: 'offset', offset: 120 }],
    ['-100', { kind: 'last', count: 100 }],
    ['5s', { kind: 'time', atMs: 5000 }],
    ['@1000', { kind: 'time', atMs: 1000 }],
  ])('%s is understood', (text, expected) => {
    expect(parseTo(text, 10_000)).toEqual(expected);
  });

  it.each(['earliest', 'tomorrow', '+5', '@'])('refuses %j and says what it takes', (text) => {
    expect(() => parseTo(text, 0)).toThrow(/--to takes latest, an offset \(120\), all but/);
  });
});

describe('--partition', () => {
  it('takes comma-separated numbers', () => {
    expect(parsePartitions('0, 2')).toEqual([0, 2]);
    for (const wrong of ['', '0,', 'a', '-1', '1.5', '9999999999']) {
      expect(() => parsePartitions(wrong)).toThrow(/--partition takes comma-separated numbers/);
    }
  });
});

describe('--key and --key-prefix', () => {
  it('are alternatives', () => {
    const take = keyIs(['a', 'b'], ['q/']);
    const taken = ['a', 'ab', 'b', 'q', 'q/1'].filter((key) => take({ ...stored({}), key }));
    expect(taken).toEqual(['a', 'b', 'q/1']);
  });
});

describe('--grep', () => {
  const record = {
    ids: Int32Array.from([77]),
    turns: [{ text: 'first' }, { text: 'no\nResult "x"' }],
    count: 77,
  };

  it('searches the key and every text of a record', () => {
    const hits = ['^k-1$', 'first', 'no\\nResult "x"', '/RESULT/i', '/^Result/m'];
    expect(hits.filter((text) => !grep(text)(stored(record)))).toEqual([]);
    const misses = ['RESULT', '^Result', 'turns', '77'];
    expect(misses.filter((text) => grep(text)(stored(record)))).toEqual([]);
  });

  it('refuses an invalid regular expression', () => {
    expect(() => grep('(')).toThrow(/--grep takes a regular expression, for example.*: Invalid/);
  });
});

describe('--diff', () => {
  const group = (score: number, over: object = {}) => ({
    rewards: [{ score }, { score: 1 }],
    ids: Int32Array.from([1, 2]),
    none: [],
    ...over,
  });

  it('shows what differs from the previous record of the same key', () => {
    const different = diff();
    const next = (value: unknown, key = 'k') => plain(different({ ...stored({}), key }, value));
    expect(next(group(0))).toBeNull();
    expect(next(group(5), 'other')).toBeNull();
    expect(next(group(0))).toBeNull();
    expect(next(group(0.5, { ids: Int32Array.from([1, 3]), more: 'x' }))).toEqual({
      'rewards.0.score': { before: 0, after: 0.5 },
      ids: { before: [1, 2], after: [1, 3] },
      more: { before: null, after: 'x' },
    });
    expect(next(group(0.5, { ids: Int32Array.from([1, 3]) }))).toEqual({
      more: { before: 'x', after: null },
    });
  });

  it('remembers only the most recent keys', () => {
    const different = diff();
    const next = (key: string, value: unknown) => different({ ...stored({}), key }, { value });
    for (let i = 0; i < 1000; i++) next(`k${i}`, 0);
    expect(next('k0', 1)).not.toBeNull();
    next('one more', 0);
    expect(next('k0', 2)).not.toBeNull();
    expect(next('k1', 1)).toBeNull();
  });
});

describe('--where', () => {
  it('sees the record, its key and its position', () => {
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

  it('refuses an invalid expression', () => {
    expect(() => where('v.a >')).toThrow(/--where is not a valid JavaScript expression/);
  });
});

describe('--fields', () => {
  const record = { id: 'r', question: { id: 'q' }, rewards: [{ score: 1 }, { score: 2 }] };

  it('select groups, single members, every member, and the envelope', () => {
    const pick = pickFields(
      'id,question.id,rewards.1.score,rewards.-1.score,rewards.-3.score,rewards.score,none.at.all,$topic,$partition,$offset,$key,$at',
    );
    expect(pick(stored(record))).toEqual({
      id: 'r',
      'question.id': 'q',
      'rewards.1.score': 2,
      'rewards.-1.score': 2,
      'rewards.-3.score': null,
      'rewards.score': [1, 2],
      'none.at.all': null,
      $topic: 'rollouts',
      $partition: 0,
      $offset: 3,
      $key: 'k-1',
      $at: '1970-01-01T00:00:00.000Z',
    });
  });

  it('may not be empty', () => {
    expect(() => pickFields('a,,b')).toThrow(/--fields takes comma-separated names/);
  });
});

describe('a shown record', () => {
  const tensors = {
    ids: Int32Array.from([1, 2]),
    probs: Float32Array.from([0.5]),
    far: Number.POSITIVE_INFINITY,
  };

  it('is plain JSON with full arrays and exact numbers', () => {
    expect(plain(tensors)).toEqual({ ids: [1, 2], probs: [0.5], far: 'Infinity' });
  });

  it('is one line of ndjson, with its envelope when asked', () => {
    expect(print('ndjson', tensors)).toBe('{"ids":[1,2],"probs":[0.5],"far":"Infinity"}\n');
    expect(JSON.parse(print('ndjson', 'x', { envelope: true }))).toEqual(
      plain(withEnvelope(stored('x'), 'x')),
    );
  });

  it('is JSON without control characters', () => {
    const hostile = { text: '\u001b[31m \u009b31m \u202e' };
    for (const name of ['ndjson', 'json']) {
      const printed = print(name, hostile);
      expect(printed).not.toMatch(/[^ -~\n]/);
      expect(JSON.parse(printed)).toEqual(hostile);
    }
  });

  it('is indented as json', () => {
    expect(print('json', { a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}\n');
  });

  it('is a CSV line under one header, with nested parts as JSON', async () => {
    const format = formatOf('csv', options)(1);
    const line = (value: unknown) => format(stored(value), value);
    expect(await line({ a: 'x, "y"', b: [1], c: null })).toBe('a,b,c\n"x, ""y""",[1],\n');
    expect(await line({ a: 'two\nlines', b: [], c: 1 })).toBe('"two\nlines",[],1\n');
  });

  it('is CSV without formulas and control characters', async () => {
    const format = formatOf('csv', options)(1);
    const value = { '=a': '=1+1', b: -2.5, c: '@x\u001b[2J' };
    expect(await format(stored(value), value)).toBe("'=a,b,c\n'=1+1,-2.5,'@x\\u001b[2J\n");
  });

  it('is pretty with long arrays cut and control characters made visible', () => {
    const value = {
      ids: Int32Array.from({ length: 2000 }, (_, n) => n),
      text: 'red \u001b[31m\nsecond',
      parts: [{ a: 1 }],
    };
    expect(print('pretty', value)).toBe(
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

  it('is pretty with texts cut at the chosen length', () => {
    const value = { text: 'abcdef', parts: [{ b: 'abcdef' }] };
    const [, ...lines] = print('pretty', value, { truncate: 4 }).split('\n');
    expect(lines).toEqual([
      '  text:',
      '    │ abcd',
      '    │ … 2 more characters',
      '  parts: 1',
      '    - { b: "abcd"… }',
      '',
    ]);
  });

  it('is pretty with the values before and after a change', () => {
    const different = diff();
    const long = 'x'.repeat(50);
    different(stored({}), { score: 0.25, text: `${long}no\u001b`, ids: new Int32Array(1) });
    const changes = different(stored({}), { score: 1, text: `${long}yes`, ids: new Int32Array(2) });
    expect(print('pretty', changes).split('\n').slice(1)).toEqual([
      '  score: 0.25 → 1',
      `  text: …"${'x'.repeat(20)}no\\u001b" → …"${'x'.repeat(20)}yes"`,
      '  ids: Int32[1] 0 → Int32[2] 0 0',
      '',
    ]);
  });

  it('is refused in an unknown format, or one that cannot hold it', () => {
    expect(() => formatOf('csv', { ...options, partsBy: '--diff' })).toThrow(
      /-o csv needs the same columns.*-o ndjson/,
    );
    expect(() => formatOf('yaml', options)).toThrow(/-o takes pretty, .*none; given: yaml/);
  });
});
