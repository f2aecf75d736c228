import { describe, expect, test } from '@jest/globals';
import type { Candidate, Criterion } from '../../../operators/preferences/candidate.ts';
import { selfCritic } from '../../../operators/preferences/selfCritic.ts';
import {
  preAlignedBoth,
  preAlignedGuided,
  preAlignedVanilla,
  selfEvolved,
} from '../../../operators/preferences/toolLight.ts';
import { paperTools } from '../../support/paperTools.ts';

/** A criterion on candidates that could call the papers' tools. */
const judged = (criterion: Criterion) => (candidates: readonly Candidate[]) =>
  criterion(candidates, paperTools);

/** A response of the strict format that is known by its answer. */
const text = (name: string): string => `<think>So</think><answer>\\boxed{${name}}</answer>`;
const nameOf = (of: string): string => /\{(.*)\}/.exec(of)?.[1] ?? of;

function candidate(name: string, over: Partial<Candidate> = {}): Candidate {
  const plain = { correct: false, score: 0, toolCalls: 1, length: 10, entropy: 0 };
  return { text: text(name), ...plain, ...over };
}
const right = (name: string, over: Partial<Candidate> = {}): Candidate =>
  candidate(name, { correct: true, score: 1, ...over });
const wrong = candidate;

/** `rights` right ones of `all`, named r0, r1, …, w0, …; wrong ones are longer and call more. */
const group = (rights: number, all: number): Candidate[] =>
  Array.from({ length: all }, (_, i) =>
    i < rights ? right(`r${i}`) : wrong(`w${i - rights}`, { toolCalls: 2, length: 20 }),
  );
const names = (verdict: ReturnType<typeof selfEvolvedPairs>) =>
  verdict.pairs.map(({ chosen, rejected }) => [nameOf(chosen), nameOf(rejected)]);
const selfEvolvedPairs = judged(selfEvolved());

describe('selfCritic', () => {
  test('chooses what earned at least 1 and rejects what earned less', () => {
    const verdict = judged(selfCritic({ pairsMax: 9 }))([
      wrong('a', { score: 0.999 }),
      right('b', { score: 1 }),
      wrong('c', { score: -1 }),
      right('d', { score: 1.1 }),
    ]);
    expect(names(verdict)).toEqual([
      ['d', 'c'],
      ['d', 'a'],
      ['b', 'c'],
      ['b', 'a'],
    ]);
    expect(verdict).toMatchObject({ difficulty: '' });
    expect(verdict.pairs[0]!.why).toBe('self-critic');
  });

  test('prefers fewer calls among equal rewards, then the shorter, then the earlier', () => {
    const verdict = judged(selfCritic())([
      right('two calls', { toolCalls: 2, length: 1 }),
      right('longer', { length: 11 }),
      right('first'),
      right('second'),
      wrong('x'),
      wrong('y'),
    ]);
    expect(names(verdict)).toEqual([['first', 'x']]);
  });

  test.each([
    ['only right ones', group(3, 3)],
    ['only wrong ones', group(0, 3)],
    ['nobody', []],
  ])('makes no pair of %s', (_, candidates) => {
    expect(judged(selfCritic())(candidates).pairs).toEqual([]);
  });

  test('pairs no text with itself', () => {
    const verdict = judged(selfCritic())([
      right('same'),
      wrong('same'),
      wrong('other', { score: 0.5 }),
    ]);
    expect(names(verdict)).toEqual([['same', 'other']]);
  });
});

describe('preAlignedVanilla', () => {
  test.each([
    [7, 10, 'easy'],
    [69, 100, ''],
    [14, 20, 'easy'],
    [41, 100, ''],
    [4, 10, 'hard'],
    [2, 5, 'hard'],
    [5, 10, ''],
    [0, 10, 'hard'],
    [10, 10, 'easy'],
    [0, 0, ''],
  ])('grades %d right of %d as %j', (rights, all, difficulty) => {
    const verdict = judged(preAlignedVanilla())(group(rights, all));
    expect(verdict.difficulty).toBe(difficulty);
    const pairs = difficulty !== '' && rights > 0 && rights < all ? 1 : 0;
    expect(verdict.pairs).toHaveLength(pairs);
  });

  test('pairs the shortest right one with the wrong one of most calls, or the longest of equals', () => {
    const verdict = judged(preAlignedVanilla({ pairsMax: 9 }))([
      right('long', { length: 12 }),
      right('short', { length: 8, toolCalls: 2 }),
      right('short too', { length: 8 }),
      ...Array.from({ length: 6 }, (_, i) => wrong(`w${i}`, { length: 8, toolCalls: 2 })),
      wrong('longer', { length: 9, toolCalls: 1 }),
      wrong('calls', { length: 7, toolCalls: 3 }),
      wrong('calls, longer', { length: 8, toolCalls: 3 }),
    ]);
    expect(verdict.difficulty).toBe('hard');
    expect(names(verdict)).toEqual([
      ['short', 'calls, longer'],
      ['short', 'calls'],
      ['short', 'longer'],
    ]);
  });
});

describe('preAlignedGuided', () => {
  test.each([
    [5, 10, 'easy'],
    [4, 9, 'hard'],
    [5, 9, 'easy'],
    [0, 3, 'hard'],
    [0, 0, ''],
  ])('grades %d right of %d as %j', (rights, all, difficulty) => {
    expect(judged(preAlignedGuided())(group(rights, all)).difficulty).toBe(difficulty);
  });

  test('pairs the surest right one of the fewest calls with wrong ones of more', () => {
    const verdict = judged(preAlignedGuided({ pairsMax: 9 }))([
      right('two calls', { toolCalls: 2, entropy: 0 }),
      right('unsure', { entropy: 0.5 }),
      right('sure', { entropy: 0.4 }),
      right('as sure', { entropy: 0.4 }),
      wrong('as many'),
      wrong('more', { toolCalls: 2 }),
      wrong('most', { toolCalls: 3 }),
    ]);
    expect(names(verdict)).toEqual([
      ['sure', 'most'],
      ['sure', 'more'],
    ]);
  });

  test('takes the demonstration if no chain is right, and nothing without one', () => {
    const chains = [wrong('a', { toolCalls: 2 }), wrong('b', { toolCalls: 1 })];
    expect(judged(preAlignedGuided())(chains).pairs).toEqual([]);
    const demonstration = { text: text('shown'), toolCalls: 1 };
    expect(names(judged(preAlignedGuided({ demonstration }))(chains))).toEqual([['shown', 'a']]);
    expect(
      names(judged(preAlignedGuided({ demonstration }))([right('r', { toolCalls: 0 }), ...chains])),
    ) //
      .toEqual([['r', 'a']]);
  });
});

describe('selfEvolved', () => {
  test.each([
    [1, 3, 'easy'],
    [1, 4, 'hard'],
    [2, 6, 'easy'],
    [3, 9, 'easy'],
    [3, 10, 'hard'],
    [0, 1, 'hard'],
    [1, 1, 'easy'],
    [0, 0, ''],
  ])('grades %d right of %d as %j', (rights, all, difficulty) => {
    expect(selfEvolvedPairs(group(rights, all)).difficulty).toBe(difficulty);
  });

  test('prefers fewer calls and certainty for an easy question', () => {
    const verdict = judged(selfEvolved({ pairsMax: 2 }))([
      right('unsure', { entropy: 1 }),
      right('sure', { entropy: 0.1 }),
      right('calls', { toolCalls: 2, entropy: 0 }),
      wrong('few', { toolCalls: 1 }),
      wrong('most', { toolCalls: 4 }),
    ]);
    expect(names(verdict)).toEqual([
      ['sure', 'most'],
      ['sure', 'few'],
    ]);
  });

  test('prefers length for a hard question', () => {
    const verdict = selfEvolvedPairs([
      right('short', { length: 5 }),
      right('long', { length: 30 }),
      ...[9, 4, 4, 12, 7].map((length, i) => wrong(`w${i}`, { length })),
    ]);
    expect(names(verdict)).toEqual([['long', 'w1']]);
    expect(verdict.pairs[0]!.why).toBe('self-evolved');
  });
});

test('a trajectory that breaks the strict format or is too long counts for the difficulty, not for a pair', () => {
  const nested = '<think>a</think><answer>\\boxed{1}<search></answer>';
  const candidates = [
    right('long', { length: 51, toolCalls: 0 }),
    right('nested', { text: nested, toolCalls: 0 }),
    right('fits', { length: 50 }),
    wrong('w', { toolCalls: 3, length: 51 }),
    wrong('v', { toolCalls: 2, length: 50 }),
    wrong('u', { toolCalls: 2, length: 50 }),
  ];
  for (const make of [preAlignedGuided, selfEvolved]) {
    const verdict = judged(make({ tokensMax: 50 }))(candidates);
    expect(verdict.difficulty).toBe('easy');
    expect(names(verdict)).toEqual([['fits', 'v']]);
  }
  const free = judged(preAlignedVanilla({ tokensMax: 50 }));
  expect(names(free([...candidates, ...group(0, 4)]))).toEqual([['fits', 'v']]);
});

describe('preAlignedBoth', () => {
  const numbered = (candidates: readonly Candidate[]): Candidate[] =>
    candidates.map((one, index) => ({ ...one, index }));

  test('judges each way by its own chains, and names way and class in each pair', () => {
    // Free: 1 of 3 right, which is hard. Guided: 2 of 3 right, which is easy.
    const free = [right('f'), wrong('fw', { length: 20 }), wrong('fx', { length: 30 })];
    const guided = [right('g'), right('h', { toolCalls: 0 }), wrong('gw', { toolCalls: 3 })];
    const { difficulty, pairs } = judged(preAlignedBoth(3))(numbered([...free, ...guided]));
    expect(difficulty).toBe('');
    expect(
      pairs.map(({ chosen, rejected, why }) => [why, nameOf(chosen), nameOf(rejected)]),
    ).toEqual([
      ['vanilla/hard', 'f', 'fx'],
      ['guided/easy', 'h', 'gw'],
    ]);
  });

  test('knows a chain by its number, when others of its group have failed', () => {
    const some = [
      { ...wrong('fw', { length: 20 }), index: 2 },
      { ...right('g'), index: 5 },
    ];
    expect(judged(preAlignedBoth(3))(some).pairs).toEqual([]);
  });

  test('falls back on a demonstration for guided chains alone', () => {
    const demonstration = { text: text('shown'), toolCalls: 0 };
    const all = numbered([wrong('f'), wrong('g')]);
    const { pairs } = judged(preAlignedBoth(1, { demonstration }))(all);
    expect(pairs.map(({ chosen, why }) => [nameOf(chosen), why])).toEqual([
      ['shown', 'guided/hard'],
    ]);
  });
});
