import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { allPlaces, eachRun, targetPlaces } from '../../../model/losses/places.ts';

describe('the places of targets', () => {
  test('are where the mask is 1, but for the first token', () => {
    expect([...targetPlaces(Uint8Array.of(1, 0, 1, 1, 0, 1))]).toEqual([2, 3, 5]);
    expect([...targetPlaces(Uint8Array.of(1))]).toEqual([]);
  });

  test('are all but the first where every token is a target', () => {
    expect([...allPlaces(4)]).toEqual([1, 2, 3]);
    expect([...allPlaces(0)]).toEqual([]);
  });

  test('come as runs of neighbours, as a search place by place finds them', () => {
    for (let turn = 0; turn < 200; turn++) {
      const random = draws('places', turn);
      // masks from nearly empty to nearly full
      const share = random.uniform(turn);
      const mask = Uint8Array.from({ length: turn }, (_, i) => (random.uniform(i) < share ? 1 : 0));
      const places = targetPlaces(mask);
      const runs: number[][] = [];
      eachRun(places, (...run) => void runs.push(run));
      const slow: number[][] = [];
      for (const [index, place] of places.entries()) {
        const last = slow.at(-1);
        if (last !== undefined && last[1]! + last[2]! === place) last[2]! += 1;
        else slow.push([index, place, 1]);
      }
      expect(runs).toEqual(slow);
    }
  });
});
