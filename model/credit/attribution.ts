/**
 * Whose advantage a token has where rollouts share a beginning (ARPO reference §1.7).
 *
 * soft: each rollout's tokens have its own advantage. Rollouts that share a beginning repeat it, so its
 * gradients add up to that of the mean as long as none is clipped.
 * hard: a shared token has the mean of the advantages of all rollouts that share it, in each of them.
 *
 * Token t of rollout i was written by the rollout itself, or, before the place where it was cloned, by the
 * one that wrote token t of its parent. Rollouts share a token when the same rollout wrote it for them; equal
 * tokens written twice are not shared. A shared beginning has the same sum of advantages in both forms.
 */
import { counted } from '../../base/text/index.ts';

/** A rollout's place in the tree of its group; what `Rollout` says about itself. */
export interface Grown {
  /** Tokens [0, offset) were copied from the rollout at `index`, which comes before; null for a root. */
  readonly parent: { readonly index: number; readonly offset: number } | null;
  /** Response tokens. */
  readonly tokens: { readonly length: number };
}

/**
 * Whose advantage a shared token has: `soft` = in each rollout its own, `hard` = in all of them the mean.
 */
export type Attribution = 'soft' | 'hard';

/**
 * Advantages of a group, one a rollout, to advantages of response tokens, [rollout][token]. `group[i]` is the
 * rollout of index i. Throws on a tree in which a rollout copies from a later one or more tokens than there
 * are.
 */
export function attribute(
  attribution: Attribution,
  advantages: readonly number[],
  group: readonly Grown[],
): Float64Array[] {
  if (advantages.length !== group.length) {
    throw new Error(
      `${counted(advantages.length, 'advantage')} for ${counted(group.length, 'rollout')}: pass one each`,
    );
  }
  const perToken = group.map(({ tokens }, i) =>
    new Float64Array(tokens.length).fill(advantages[i]!),
  );
  if (attribution === 'hard') {
    for (const [i, grown] of group.entries()) expectGrown(grown, i, group);
    shareBeginnings(perToken, advantages, group);
  }
  return perToken;
}

/**
 * The writer changes only where a rollout was cloned: between two such places there is one mean for each
 * writer.
 */
function shareBeginnings(
  perToken: readonly Float64Array[],
  advantages: readonly number[],
  group: readonly Grown[],
): void {
  const offsets = new Set(group.map(({ parent }) => parent?.offset ?? 0));
  let start = 0;
  for (const end of [...offsets].sort((a, b) => a - b)) {
    const writers = group.map((_, i) => writerOf(i, start, group));
    for (const [i, writer] of writers.entries()) {
      const shared = advantages.filter((_, j) => writers[j] === writer);
      const mean = shared.reduce((sum, advantage) => sum + advantage, 0) / shared.length;
      perToken[i]!.fill(mean, start, end);
    }
    start = end;
  }
}

/** The rollout that wrote token `at` of rollout i. */
function writerOf(i: number, at: number, group: readonly Grown[]): number {
  const { parent } = group[i]!;
  return parent === null || at >= parent.offset ? i : writerOf(parent.index, at, group);
}

function expectGrown({ parent, tokens }: Grown, i: number, group: readonly Grown[]): void {
  if (parent === null) return;
  const source = group[parent.index];
  const most = Math.min(tokens.length, source?.tokens.length ?? 0);
  if (parent.index < i && parent.offset <= most) return;
  throw new Error(
    `rollout ${i} of a group of ${group.length} cannot have ${counted(parent.offset, 'token')} from rollout ${parent.index}: ` +
      'pass the whole group, ordered by index',
  );
}
