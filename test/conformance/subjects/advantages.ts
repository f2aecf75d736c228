/**
 * Advantages.
 */
import { advantageEstimators } from '../../../model/credit/estimators.ts';
import type { GroupAdvantage } from '../../../model/credit/group.ts';
import { grpo } from '../../../model/credit/grpo.ts';
import { grpoPassk } from '../../../model/credit/grpoPassk.ts';
import type { Matrix } from '../../../model/credit/matrix.ts';
import { opo } from '../../../model/credit/opo.ts';
import { rloo } from '../../../model/credit/rloo.ts';
import { whitened } from '../../../model/credit/whitened.ts';
import { perGroup, spread } from '../../oracles/batch.ts';
import {
  gae,
  reinforcePlusPlus,
  reinforcePlusPlusBaseline,
  remax,
} from '../../oracles/tokenAdvantages.ts';
import { type CaseContext, oracle, type Subject, type Subjects, subject } from '../subject.ts';

interface GrpoArgs {
  readonly scores: readonly number[];
  readonly groups: readonly number[];
  readonly normByStd: boolean;
}
interface OutcomeArgs {
  readonly scores: readonly number[];
  readonly groups: readonly string[];
  readonly mask: Matrix;
  readonly normaliseByStd?: boolean;
}
interface TokenArgs {
  readonly rewards: Matrix;
  readonly values: Matrix;
  readonly baselines: readonly number[];
  readonly mask: Matrix;
  readonly gamma: number;
  readonly lam: number;
}
export const advantageSubjects: Subjects = {
  'grpo-advantage': subject<GrpoArgs>(({ scores, groups, normByStd }) =>
    perGroup(grpo({ normByStd }), scores, groups),
  ),
  rloo: spreadOverTokens(() => rloo()),
  opo: spreadOverTokens(() => opo()),
  'grpo-passk': spreadOverTokens(({ normaliseByStd }) => grpoPassk({ normByStd: normaliseByStd! })),
  'reinforce-plus-plus-baseline': subject<OutcomeArgs>(baselineByBatch),
  gae: oracle<TokenArgs>('no critic, so no values to estimate from', (args) =>
    gae({ ...args, lambda: args.lam }),
  ),
  'reinforce-plus-plus': oracle<TokenArgs>(
    'rewards are of whole rollouts, not of tokens',
    ({ rewards, mask, gamma }) => reinforcePlusPlus(rewards, mask, gamma),
  ),
  remax: oracle<TokenArgs>('no greedy rollout as baseline', ({ rewards, baselines, mask }) =>
    remax(rewards, baselines, mask),
  ),
};

/** As `score` and the trainer do it, one after the other; fewer than two tokens are not whitened there. */
function baselineByBatch(
  { scores, groups, mask }: OutcomeArgs,
  { by }: CaseContext,
): readonly ArrayLike<number>[] {
  const plain = reinforcePlusPlusBaseline(scores, groups, mask);
  if (mask.flat().filter((on) => on === 1).length < 2) {
    by('detour', 'fewer than two tokens are not whitened');
    return plain;
  }
  const { group } = advantageEstimators['reinforce++-baseline'];
  const found = whitened(spread(perGroup(group, scores, groups), mask), mask);
  return found.map((row, i) => Array.from(row, (value, t) => value * mask[i]![t]!));
}

function spreadOverTokens(advantage: (args: OutcomeArgs) => GroupAdvantage): Subject {
  return subject<OutcomeArgs>((args) => {
    const lengths = args.mask.map((row) => row.reduce((sum, selected) => sum + selected, 0));
    return spread(perGroup(advantage(args), args.scores, args.groups, lengths), args.mask);
  });
}
