import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { type Attribution, attribute, type Grown } from '../../../model/credit/attribution.ts';
import { grpo } from '../../../model/credit/grpo.ts';

/** A rollout of `length` tokens, cloned from the rollout `from` after `offset` of them. */
const grown = (length: number, from?: number, offset = 0): Grown => ({
  parent: from === undefined ? null : { index: from, offset },
  tokens: { length },
});

const shared = (attribution: Attribution, advantages: number[], group: Grown[]): number[][] =>
  attribute(attribution, advantages, group).map((row) => [...row]);

describe('soft attribution', () => {
  test('gives each token its rollout’s own advantage, shared or not', () => {
    const group = [grown(3), grown(4, 0, 2), grown(0)];
    expect(shared('soft', [1, -1, 5], group)).toEqual([[1, 1, 1], [-1, -1, -1, -1], []]);
  });
});

describe('hard attribution', () => {
  test('equals soft attribution if nothing is shared', () => {
    const group = [grown(2), grown(3), grown(0)];
    expect(shared('hard', [1, -1, 0], group)).toEqual(shared('soft', [1, -1, 0], group));
  });

  test('gives a shared prefix the mean advantage of those that share it', () => {
    expect(shared('hard', [1, -1, 0.5], [grown(4), grown(3, 0, 2), grown(2)])).toEqual([
      [0, 0, 1, 1],
      [0, 0, -1],
      [0.5, 0.5],
    ]);
  });

  test('takes the mean of fewer and fewer along nested branches', () => {
    // 0 is cloned after 1 token to 1, which is cloned after 3 to 2; 0 is cloned again after 2 to 3.
    const group = [grown(3), grown(4, 0, 1), grown(5, 1, 3), grown(3, 0, 2)];
    expect(shared('hard', [1, 2, 4, 9], group)).toEqual([
      [4, 5, 1],
      [4, 3, 3, 2],
      [4, 3, 3, 4, 4],
      [4, 5, 9],
    ]);
  });

  test('shares with a grandparent what a clone was cloned from before its own first token', () => {
    const group = [grown(4), grown(4, 0, 3), grown(4, 1, 2)];
    expect(shared('hard', [3, 6, 0], group)).toEqual([
      [3, 3, 4.5, 3],
      [3, 3, 4.5, 6],
      [3, 3, 0, 0],
    ]);
  });

  test('counts a clone that failed before it wrote a token', () => {
    expect(shared('hard', [1, -3], [grown(3), grown(2, 0, 2)])).toEqual([
      [-1, -1, 1],
      [-1, -1],
    ]);
  });

  test('gives a single rollout its own advantage', () => {
    expect(shared('hard', [0.7], [grown(2)])).toEqual([[0.7, 0.7]]);
  });

  test.each([
    ['a later rollout', [grown(3, 1, 1), grown(3)]],
    ['itself', [grown(3, 0, 1)]],
    ['a rollout that is not there', [grown(3), grown(3, 7, 1)]],
    ['beyond the parent’s end', [grown(3), grown(5, 0, 4)]],
    ['beyond its own end', [grown(5), grown(3, 0, 4)]],
  ])('refuses a rollout copied from %s', (_, group) => {
    expect(() =>
      attribute(
        'hard',
        group.map(() => 0),
        group,
      ),
    ).toThrow(/pass the whole group/);
  });

  test.each(['soft', 'hard'] as const)('refuses %s advantages of another number', (attribution) => {
    expect(() => attribute(attribution, [1], [grown(1), grown(1)])).toThrow(/pass one each/);
  });
});

/** A tree as `growGroup` makes them, and wilder: clones of clones, cut anywhere, endings of any length. */
function anyTree(seed: number): Grown[] {
  const chance = draws('tree', seed);
  const group: Grown[] = [];
  for (let i = 0; i < 8; i++) {
    const at = i * 4;
    const own = chance.integer(at, 5);
    if (i === 0 || chance.uniform(at + 1) < 0.3) group.push(grown(own));
    else {
      const from = chance.integer(at + 2, i);
      const offset = chance.integer(at + 3, group[from]!.tokens.length + 1);
      group.push(grown(offset + own, from, offset));
    }
  }
  return group;
}

/**
 * The same, slowly: every written token is an object, clones copy references, sharers hold the same object.
 */
function written(advantages: readonly number[], group: readonly Grown[]): number[][] {
  const said: object[][] = [];
  for (const { parent, tokens } of group) {
    const copied = parent === null ? [] : said[parent.index]!.slice(0, parent.offset);
    said.push([...copied, ...Array.from({ length: tokens.length - copied.length }, () => ({}))]);
  }
  return said.map((row) =>
    row.map((token) => {
      const own = advantages.filter((_, i) => said[i]!.includes(token));
      return own.reduce((sum, advantage) => sum + advantage, 0) / own.length;
    }),
  );
}

const sum = (rows: readonly (readonly number[])[]): number =>
  rows.flat().reduce((total, value) => total + value, 0);

describe('over random trees', () => {
  const seeds = Array.from({ length: 200 }, (_, seed) => seed);
  const advantagesOf = (seed: number): number[] =>
    grpo()(Array.from({ length: 8 }, (_, i) => draws('scores', seed).integer(i, 3)));

  test('hard attribution follows from which rollouts hold which token', () => {
    for (const seed of seeds) {
      const [group, advantages] = [anyTree(seed), advantagesOf(seed)];
      expect(shared('hard', advantages, group)).toEqual(written(advantages, group));
    }
  });

  test('both kinds of attribution give a group the same sum, token by token', () => {
    for (const seed of seeds) {
      const [group, advantages] = [anyTree(seed), advantagesOf(seed)];
      const [soft, hard] = (['soft', 'hard'] as const).map((form) =>
        shared(form, advantages, group),
      );
      const longest = Math.max(...group.map(({ tokens }) => tokens.length));
      for (let t = 0; t < longest; t++) {
        const at = (rows: number[][]): number[][] => rows.map((row) => row.slice(t, t + 1));
        expect(sum(at(hard!))).toBeCloseTo(sum(at(soft!)), 12);
      }
    }
  });
});
