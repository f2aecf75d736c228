/**
 * The small parts of the page's server, each by itself: refs, cursors, shown values, steps, tokens, the first
 * sentence.
 */
import { describe, expect, test } from '@jest/globals';
import { wordTokenizer } from '../../../../model/wordTokenizer.ts';
import { Cursor } from '../../../../page/server/run/cursor.ts';
import { healthOf } from '../../../../page/server/run/health.ts';
import { piecesOf, startsOf } from '../../../../page/server/run/pieces.ts';
import { RateHistory } from '../../../../page/server/run/rateHistory.ts';
import { positionIn, refOf } from '../../../../page/server/run/refs.ts';
import { cutText, shown } from '../../../../page/server/run/shown.ts';
import { Timeline } from '../../../../page/server/run/timeline.ts';
import { tokensBin } from '../../../../page/server/run/tokens.ts';
import { pairedOf } from '../../../../page/server/views/diff.ts';
import { seriesOf } from '../../../../page/server/views/metrics.ts';
import type { MillStage, RunHead, TokensHeader } from '../../../../page/wire/index.ts';
import type { Reading } from '../../../../summary/reading.ts';
import type { Weights } from '../../../../topics/index.ts';
import { question, rollout } from '../../../cli/support/records.ts';
import { practised, rewards, scored } from '../../../support/scored.ts';

test('a reference names one position', () => {
  for (const position of [
    { partition: 0, offset: 812 },
    { partition: 2, offset: 0 },
  ]) {
    expect(positionIn(refOf(position))).toEqual(position);
  }
  for (const text of ['', '-1', '1-', 'a', '1.5', '1-2-3', '../1', '9'.repeat(20)]) {
    expect(positionIn(text)).toBeNull();
  }
});

test('a cursor holds an offset for each partition', () => {
  const cursor = new Cursor();
  cursor.seen({ partition: 0, offset: 811 });
  cursor.seen({ partition: 3, offset: 0 });
  expect(cursor.text).toBe('0-812.3-1');
  expect(Cursor.parse(cursor.text)?.isBefore({ partition: 0, offset: 811 })).toBe(false);
  expect(Cursor.parse(cursor.text)?.isBefore({ partition: 0, offset: 812 })).toBe(true);
  expect(Cursor.parse('0-x')).toBeNull();
});

describe('a value that is shown', () => {
  test('is JSON whatever it holds, and says what was left out', () => {
    const { value, cut } = shown(
      {
        tokens: Int32Array.from({ length: 40 }, (_, i) => i),
        odd: [Number.NaN, Number.POSITIVE_INFINITY, 1],
        text: 'x'.repeat(30),
        many: Array.from({ length: 300 }, () => 0),
      },
      { textMax: 10 },
    );
    expect(cut).toBe(true);
    expect(JSON.parse(JSON.stringify(value))).toMatchObject({
      tokens: { $packed: { type: 'int32', total: 40 } },
      odd: [{ $number: 'NaN' }, { $number: 'Infinity' }, 1],
      text: { $cut: { text: 'xxxxxxxxxx', shown: 10, total: 30 } },
    });
    expect((value as { many: unknown[] }).many.at(-1)).toEqual({ $more: 100 });
  });

  test('is never cut within a character', () => {
    expect(cutText('ab😀', 3)).toEqual({ $cut: { text: 'ab', shown: 2, total: 4 } });
  });

  test('gets no prototype from a key of a record', () => {
    const { value } = shown(JSON.parse('{"__proto__": {"x": 1}}'), { textMax: 10 });
    expect(({} as { x?: number }).x).toBeUndefined();
    expect(JSON.stringify(value)).toBe('{"__proto__":{"x":1}}');
  });
});

test('a timeline of many steps drops some, but never the newest', () => {
  const timeline = new Timeline(10);
  for (let step = 0; step < 1000; step++) {
    const value = { step, version: step, digest: null } as Weights;
    const position = { partition: 0, offset: step };
    timeline.add({ topic: 'weights', position, key: '', value, atMs: step, bytes: 1 });
    expect(timeline.newest?.step).toBe(step);
    expect(timeline.marks.length).toBeLessThanOrEqual(11);
    expect(timeline.marks[0]?.step).toBe(0);
  }
  expect(timeline.total).toBe(1000);
  const steps = timeline.marks.map(({ step }) => step);
  expect(steps).toEqual([...steps].sort((a, b) => a - b));
  expect(timeline.upTo(({ step }) => step > 500)?.step).toBeLessThanOrEqual(500);
});

const tokenizer = wordTokenizer({
  kind: 'words',
  tags: ['<end>', '<b>'],
  symbols: ['.', ' '],
  words: ['two', 'words'],
});

describe('the tokens of a trajectory', () => {
  test.each(['two words.<b>é two', 'two<b>', '😀😀', ''])('of %j add up to its text', (text) => {
    const tokens = tokenizer.encode(text);
    const { text: whole, lengths } = piecesOf(tokens, tokenizer);
    expect(whole).toBe(text);
    expect(startsOf(lengths).at(-1)).toBe(text.length);
  });

  test('have the text of a split character at its last part', () => {
    const { lengths } = piecesOf(tokenizer.encode('é'), tokenizer);
    expect([...lengths]).toEqual([0, 1]);
  });

  test('are encoded as wire.ts defines', () => {
    const tokens = tokenizer.encode('two words é');
    const count = tokens.length;
    const one = rollout({
      question: question('q'),
      tokens,
      logProbs: Float32Array.from({ length: count }, (_, i) => -i),
      segments: [
        { kind: 'policy', start: 0, end: 2, version: 4, entropy: 0.5, tool: null },
        { kind: 'tool', start: 2, end: count, version: 5, entropy: null, tool: 'search' },
      ],
      version: 4,
    });
    const bin = Buffer.from(tokensBin(one, piecesOf(tokens, tokenizer)));
    expect(bin.toString('latin1', 0, 4)).toBe('MLTK');
    const headerBytes = bin.readUInt32LE(4);
    const header = JSON.parse(bin.toString('utf8', 8, 8 + headerBytes)) as TokensHeader;
    expect(header).toMatchObject({
      tokens: count,
      versions: [4, 5],
      entropy: { from: 0.5, to: 0.5 },
    });
    const textAt = 8 + headerBytes;
    expect(textAt % 4).toBe(0);
    expect(bin.toString('utf8', textAt, textAt + header.textBytes)).toBe('two words é');
    const at = textAt + 4 * Math.ceil(header.textBytes / 4);
    const lengths = Array.from({ length: count }, (_, i) => bin.readUInt16LE(at + 2 * i));
    expect(lengths.reduce((a, b) => a + b, 0)).toBe('two words é'.length);
    const column = (n: number): number[] => [
      ...bin.subarray(at + (2 + n) * count, at + (3 + n) * count),
    ];
    expect(column(0).slice(0, 3)).toEqual([0, 0, 255]);
    expect(column(1).slice(0, 3)).toEqual([254, 0, 255]);
    expect(column(2).slice(0, 3)).toEqual([0, 0, 1]);
    expect(column(3).slice(0, 3)).toEqual([0, 0, 1]);
    expect(bin).toHaveLength(at + 6 * count);
  });
});

describe('a missing curve', () => {
  const why = (name: string, step: number): string | undefined => {
    const view = { book: { names: [], series: () => null }, behind: 0 };
    const timeline = { newest: { step } };
    const range = { x: 'step', from: 0, to: 9, most: 9 } as const;
    const given = { ...view, timeline } as unknown as Parameters<typeof seriesOf>[0];
    return seriesOf(given, [name], range).absent[0]?.why;
  };

  test('says whether nothing was made yet, the run is fine-tuning, or it is never written', () => {
    expect(why('reward/mean', 0)).toBe('no step has been made yet; the first step writes it');
    expect(why('reward/mean', 16)).toMatch(/none of the 16 steps so far was one: fine-tuning/);
    expect(why('nope', 16)).toBe('no metric with that name was written up to step 16');
  });
});

describe('a comparison of two runs', () => {
  /** A run with one complete evaluation, of which each rollout of question i is right by `right[i]`. */
  const reading = (run: string, texts: readonly string[], right: readonly number[]): Reading => {
    const groups = texts.map((text, i) =>
      scored({
        question: { ...practised(i, 9), id: `q${i}`, question: text, phase: 'evaluate', round: 0 },
        rewards: rewards([right[i]!, right[i]!]),
        rollouts: [],
      }),
    );
    const evaluations = new Map([[0, { groups, expected: groups.length }]]);
    return { run, evaluations, facts: { status: 'done' } } as unknown as Reading;
  };

  test('pairs equal questions, not equal ids', () => {
    const a = reading('a', ['1 + 1?', '2 + 2?', '3 + 3?'], [1, 1, 0]);
    const b = reading('b', ['1 + 1?', '5 + 5?', '3 + 3?'], [1, 0, 1]);
    const { paired } = pairedOf(a, b, 7);
    expect(paired).toMatchObject({ questions: 2, onlyA: 1, onlyB: 1 });
    expect(paired!.flips.map(({ question, to }) => [question, to])).toEqual([['q2', 'solved']]);
    const other = reading('c', ['7 + 7?', '8 + 8?', '9 + 9?'], [1, 1, 1]);
    expect(pairedOf(a, other, 7)).toEqual({
      paired: null,
      pairedWhy: expect.stringMatching(
        /different questions, under the same ids: give .* same seed/,
      ),
    });
  });
});

describe('the rate of a topic', () => {
  test('covers the half minute of the stage rates, however often it is requested', () => {
    const history = new RateHistory();
    const at = (seconds: number, records: number): number | null => {
      history.add([{ topic: 'rollouts', records, bytes: 0, lag: {} }], 1000 * seconds);
      return history.of('rollouts').perSecond;
    };
    expect(at(0, 100)).toBeNull();
    expect(at(1, 110)).toBe(10);
    // Sixteen at once every eight seconds are two a second.
    for (let second = 2; second <= 60; second++) at(second, 110 + 16 * Math.floor(second / 8));
    for (let second = 61; second <= 80; second++) {
      expect(at(second, 110 + 16 * Math.floor(second / 8))).toBeCloseTo(2, 0);
    }
    for (let second = 81; second <= 120; second++) at(second, 270);
    expect(at(121, 270)).toBe(0);
  });
});

describe('the headline of a run', () => {
  const head = { state: 'live', stateText: '', step: 3 } as RunHead;
  const stage = (name: string, to: string, shares: MillStage['shares'], isOld = false): MillStage =>
    ({ name, to, shares, isOld, oldestMs: 90_000 }) as MillStage;
  const starved = { busy: 0.2, starved: 0.8, blocked: 0, paced: 0 };
  const busy = { busy: 0.97, starved: 0.03, blocked: 0, paced: 0 };

  test.each([
    [
      'who generates limits a run',
      [stage('rollout', 'rollouts', busy), stage('trainer', 'weights', starved)],
      'Generation-bound: rollout busy 97 % of the last half minute; trainer starved 80 %.',
    ],
    [
      'the trainer does',
      [
        stage('rollout', 'rollouts', { ...starved, starved: 0, paced: 0.8 }),
        stage('trainer', 'weights', busy),
      ],
      'Training-bound: trainer busy 97 % of the last half minute; rollout paced 80 %.',
    ],
    [
      'the log does',
      [stage('score', 'scored', { busy: 0.1, starved: 0, blocked: 0.9, paced: 0 })],
      'Log-bound: score waits 90 % of the time for its output to be written.',
    ],
    [
      'who generates does, though others wait for the log',
      [
        stage('rollout', 'rollouts', busy),
        stage('score', 'scored', { busy: 0.1, starved: 0.34, blocked: 0.56, paced: 0 }),
      ],
      'Generation-bound: rollout busy 97 % of the last half minute.',
    ],
    [
      'nothing does',
      [stage('score', 'scored', starved)],
      'Nothing limits it: every stage waits for input most of the time.',
    ],
    [
      'a record never ends',
      [stage('rollout', 'rollouts', busy, true)],
      'rollout has been working on one record for 1 min 30 s, far longer than usual.',
    ],
  ])('states that %s', (_, stages, text) => {
    expect(healthOf({ head, stages, damage: '', deadLetters: 0 }).text).toBe(text);
  });

  test('adds that steps taught nothing', () => {
    const idle = ['no step taught the policy anything (steps 1 to 3): every rollout failed'];
    const done = { ...head, state: 'done', step: 3 } as RunHead;
    expect(healthOf({ head: done, stages: [], damage: '', deadLetters: 0, idle })).toEqual({
      level: 'note',
      text: 'Finished after step 3. No step taught the policy anything (steps 1 to 3): every rollout failed.',
      stage: null,
    });
  });

  test('begins with the fact that no process reports any more', () => {
    const silent = {
      ...head,
      state: 'silent',
      stateText: 'no process has reported for 42.0 s; resume',
    } as RunHead;
    expect(
      healthOf({
        head: silent,
        stages: [stage('rollout', 'rollouts', busy)],
        damage: '',
        deadLetters: 0,
      }),
    ).toEqual({
      level: 'bad',
      text: 'No process has reported for 42.0 s; resume.',
      stage: null,
    });
  });
});
