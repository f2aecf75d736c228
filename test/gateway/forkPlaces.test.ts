import { describe, expect, test } from '@jest/globals';
import { forkPlaces, hasSplitBudget, rootsOf } from '../../gateway/forkPlaces.ts';
import { aepo, aepoInitialRollouts } from '../../operators/sampling/aepo.ts';
import { arpo } from '../../operators/sampling/arpo.ts';

const settings = { initialRollouts: 2, beamSize: 2, branchProbability: 0.5, entropyWeight: 0.2 };
const root = (...entropies: readonly number[]) => ({
  calls: entropies.map((entropy) => ({ entropy })),
});
/** ARPO forks on low draws. */
const always = (): number => 0;

describe('roots of a group of sessions', () => {
  test('are all of it without branching, and as many as set with ARPO', () => {
    expect(rootsOf(null, 8, [])).toBe(8);
    expect(rootsOf(arpo(settings), 8, [])).toBe(2);
    expect(rootsOf(arpo({ ...settings, initialRollouts: 9 }), 8, [])).toBe(8);
    expect([arpo(settings), null].map(hasSplitBudget)).toEqual([false, false]);
  });

  test('follow from the entropies of the first with AEPO', () => {
    const dynamic = aepo(settings);
    expect(hasSplitBudget(dynamic)).toBe(true);
    const unsure = [{ entropy: 2 }, { entropy: 0.1 }, { entropy: 0.3 }];
    const mean = [2, 0.1, 0.3];
    expect(rootsOf(dynamic, 8, unsure)).toBe(aepoInitialRollouts(8, 2, mean));
    const [many, few] = [unsure, unsure.toReversed()].map((calls) => rootsOf(dynamic, 8, calls));
    expect(many).toBeGreaterThan(few!);
    // Nothing is known of a session without calls: half of the group, and one.
    expect(rootsOf(dynamic, 8, [])).toBe(5);
  });
});

describe('forks of sessions', () => {
  test('leave at every call but the first where the method says so, root by root', () => {
    const places = forkPlaces(arpo(settings), [root(1, 1, 1), root(1, 1)], always);
    expect(places).toEqual([
      { root: 0, call: 1 },
      { root: 0, call: 2 },
      { root: 1, call: 1 },
    ]);
    expect(forkPlaces(arpo(settings), [root(1), root()], always)).toEqual([]);
  });

  test('draw in the order of roots and calls, whatever the order of rounds', () => {
    const asked: number[] = [];
    const three = arpo({ ...settings, beamSize: 3 });
    forkPlaces(three, [root(1, 1, 1), root(1, 1, 1)], (drawn) => asked.push(drawn) * 0);
    expect(asked.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    // Round by round: calls 1 of both roots, then calls 2.
    expect(asked).toEqual([0, 1, 4, 5, 2, 3, 6, 7]);
  });

  test('get rarer with each round in a row in which the group, or with path this session, was forked', () => {
    const rows: number[] = [];
    const branching = (penaltyScope: 'group' | 'path') => ({
      ...aepo({ ...settings, penaltyScope }),
      decide(_change: number, drawn: number, consecutive: number) {
        rows.push(consecutive);
        return drawn > 0.5;
      },
    });
    // Of two sessions of four calls the first is forked at calls 1 and 2, the second at 3.
    const drawn = [1, 1, 0, 0, 0, 1];
    const roots = [root(1, 1, 1, 1), root(1, 1, 1, 1)];
    forkPlaces(branching('group'), roots, (i) => drawn[i]!);
    expect(rows.splice(0)).toEqual([0, 0, 1, 1, 2, 2]);
    forkPlaces(branching('path'), roots, (i) => drawn[i]!);
    expect(rows).toEqual([0, 0, 1, 0, 2, 0]);
  });
});
