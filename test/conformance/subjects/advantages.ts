/**
 * Advantages and losses.
 */

import { type GroupAdvantage, perGroup } from '../../../model/credit/group.ts';
import { grpo } from '../../../model/credit/grpo.ts';
import { grpoPassk } from '../../../model/credit/grpoPassk.ts';
import { type Matrix, spread } from '../../../model/credit/matrix.ts';
import { opo } from '../../../model/credit/opo.ts';
import { rloo } from '../../../model/credit/rloo.ts';
import { dpoLoss, labelledLogProb, type PreferencePairs } from '../../oracles/dpo.ts';
import { entropyAwareAdvantages } from '../../oracles/entropyAware.ts';
import { type KlKind, klEstimate } from '../../oracles/kl.ts';
import { type PolicyLossInput, policyLoss } from '../../oracles/policyLoss.ts';
import {
  gae,
  reinforcePlusPlus,
  reinforcePlusPlusBaseline,
  remax,
} from '../../oracles/tokenAdvantages.ts';
import { type Subject, type Subjects, subject } from '../subject.ts';

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
interface KlArgs {
  readonly kind: KlKind;
  readonly logProbs: readonly number[];
  readonly refLogProbs: readonly number[];
}
interface EntropyArgs {
  readonly advantages: Matrix;
  readonly entropies: Matrix;
  readonly mask: Matrix;
}
interface LogpsArgs {
  readonly logits: readonly Matrix[];
  readonly labels: Matrix;
}

export const advantageSubjects: Subjects = {
  'grpo-advantage': subject<GrpoArgs>(({ scores, groups, normByStd }) =>
    perGroup(grpo({ normByStd }), scores, groups),
  ),
  rloo: spreadOverTokens(() => rloo()),
  opo: spreadOverTokens(() => opo()),
  'grpo-passk': spreadOverTokens(({ normaliseByStd }) => grpoPassk({ normByStd: normaliseByStd! })),
  'reinforce-plus-plus-baseline': subject<OutcomeArgs>(({ scores, groups, mask }) =>
    reinforcePlusPlusBaseline(scores, groups, mask),
  ),
  gae: subject<TokenArgs>((args) => gae({ ...args, lambda: args.lam })),
  'reinforce-plus-plus': subject<TokenArgs>(({ rewards, mask, gamma }) =>
    reinforcePlusPlus(rewards, mask, gamma),
  ),
  remax: subject<TokenArgs>(({ rewards, baselines, mask }) => remax(rewards, baselines, mask)),
  kl: subject<KlArgs>(({ kind, logProbs, refLogProbs }) =>
    logProbs.map((logProb, i) => klEstimate(kind, logProb, refLogProbs[i]!)),
  ),
  'policy-loss': subject<PolicyLossInput>((input) => {
    const { gradient: _, ...numbers } = policyLoss(input);
    return numbers;
  }),
  'arpo-loss-gradient': subject<PolicyLossInput>((input) => lossAndGradient(input)),
  'aepo-loss': subject<PolicyLossInput>((input) =>
    lossAndGradient({ ...input, entropyBalanced: true }),
  ),
  'aepo-advantage': subject<EntropyArgs>(({ advantages, entropies, mask }) =>
    entropyAwareAdvantages(advantages, entropies, mask, { mode: 'reference' }),
  ),
  'dpo-loss': subject<PreferencePairs>((pairs) => dpoLoss(pairs)),
  'dpo-logps': subject<LogpsArgs>(({ logits, labels }) => {
    const found = labels.map((row, i) => labelledLogProb(logits[i]!, row));
    return { logps: found.map((item) => item.logProb), counts: found.map((item) => item.count) };
  }),
};

function spreadOverTokens(advantage: (args: OutcomeArgs) => GroupAdvantage): Subject {
  return subject<OutcomeArgs>((args) => {
    const lengths = args.mask.map((row) => row.reduce((sum, selected) => sum + selected, 0));
    return spread(perGroup(advantage(args), args.scores, args.groups, lengths), args.mask);
  });
}

function lossAndGradient(input: PolicyLossInput): unknown {
  const { loss, gradient } = policyLoss(input);
  return { loss, gradient };
}
