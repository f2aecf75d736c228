/**
 * A batch in one go, as the published code takes it: groups named by sequence, a number a sequence over its
 * tokens.
 */
import type { GroupAdvantage } from '../../model/credit/group.ts';
import { type Mask, mapMatrix } from '../../model/credit/matrix.ts';

/** Applies a group advantage to a batch in which `groups[i]` names the group of sequence i. */
export function perGroup(
  advantage: GroupAdvantage,
  scores: readonly number[],
  groups: readonly (string | number)[],
  lengths: readonly number[] = scores.map(() => 1),
): number[] {
  const members = new Map<string | number, number[]>();
  groups.forEach((group, i) => {
    members.set(group, [...(members.get(group) ?? []), i]);
  });
  const result = new Array<number>(scores.length).fill(0);
  for (const indices of members.values()) {
    const own = advantage(
      indices.map((i) => scores[i]!),
      indices.map((i) => lengths[i]!),
    );
    indices.forEach((i, place) => {
      result[i] = own[place]!;
    });
  }
  return result;
}

/** One number a sequence, put on each of its selected tokens. */
export function spread(perSequence: readonly number[], mask: Mask): number[][] {
  return mapMatrix(mask, (selected, i) => perSequence[i]! * selected);
}
