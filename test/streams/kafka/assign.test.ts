import { describe, expect, test } from '@jest/globals';
import { type Assignment, assign, type Claim } from '../../../streams/kafka/assign.ts';

const claim = (memberId: string, generation = -1, partitions: readonly number[] = []): Claim => ({
  memberId,
  generation,
  partitions,
});

/** The claims that members make in the round after this one. */
const nextClaims = (given: Assignment, generation: number): Claim[] =>
  [...given].map(([memberId, partitions]) => claim(memberId, generation, partitions));

const counts = (given: Assignment): number[] =>
  [...given.values()].map(({ length }) => length).sort((a, b) => a - b);

describe('assigning partitions', () => {
  test('gives all of them to a single worker, and shares them evenly among several', () => {
    expect(assign([claim('a')], 4).get('a')).toEqual([0, 1, 2, 3]);
    expect(counts(assign([claim('a'), claim('b'), claim('c')], 7))).toEqual([2, 2, 3]);
    expect(counts(assign([claim('a'), claim('b')], 1))).toEqual([0, 1]);
  });

  test('gives a moving partition to no one until its holder has released it', () => {
    const alone = assign([claim('a')], 4);
    const first = assign([...nextClaims(alone, 1), claim('b')], 4);
    expect(first.get('a')).toEqual([0, 1]);
    expect(first.get('b')).toEqual([]);
    const second = assign(nextClaims(first, 2), 4);
    expect(second.get('a')).toEqual([0, 1]);
    expect(second.get('b')).toEqual([2, 3]);
  });

  test('moves as few as possible when a worker leaves', () => {
    const three = assign(
      nextClaims(
        assign(
          ['a', 'b', 'c'].map((id) => claim(id)),
          6,
        ),
        1,
      ),
      6,
    );
    const two = assign(
      nextClaims(three, 2).filter(({ memberId }) => memberId !== 'b'),
      6,
    );
    for (const id of ['a', 'c'])
      expect(two.get(id)).toEqual(expect.arrayContaining([...three.get(id)!]));
    expect([...two.values()].flat().sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('ignores outdated claims, and double claims to one partition', () => {
    const stale = assign([claim('a', 4, [0, 1]), claim('b', 5, [0])], 2);
    expect(stale.get('b')).toContain(0);
    const disputed = assign([claim('a', 5, [0]), claim('b', 5, [0])], 1);
    expect([...disputed.values()].flat()).toEqual([0]);
  });

  test('never gives one partition to two workers, however they come and go', () => {
    let claims = [claim('m0')];
    for (let generation = 1; generation < 60; generation++) {
      const given = assign(claims, 11);
      const all = [...given.values()].flat();
      expect(new Set(all).size).toBe(all.length);
      claims = nextClaims(given, generation);
      if (generation % 3 === 0) claims.push(claim(`m${generation}`));
      if (generation % 7 === 0) claims.shift();
      if (generation % 9 === 8) {
        const settled = assign(nextClaims(assign(claims, 11), generation), 11);
        expect([...settled.values()].flat()).toHaveLength(11);
      }
    }
  });
});
