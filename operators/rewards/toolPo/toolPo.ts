/**
 * ToolPO's reward (DeepAgent §3.3), in parts, so that a run can be scored again:
 *
 *     R_success = the score of the reward that says how right a response is
 *     R_action  = callWeight · Σ C(call) + foldWeight · S(rollout)
 *
 * The score is R_success; R_action is the part `action`, from which the advantage `toolpo` makes a second one
 * for the tokens of actions (model/credit/toolPo.ts).
 */
import type { Question, Reward, Rollout } from '../../../topics/index.ts';
import { episodeOf } from '../../deepAgent/episode.ts';
import { accuracy } from '../accuracy.ts';
import type { GroupForReward, RewardFunction } from '../reward.ts';
import { type CallGold, type CallVerdict, type CreditedCall, callVerdicts } from './callCredit.ts';
import { foldPreferences } from './foldPreference.ts';
import { goldOf } from './goldOf.ts';

/**
 * What ΣC counts: `sum` every right call, as the method has it; `mean` divides by the number of calls, so
 * that more calls are worth no more; `distinct` counts a tool once, however often it is called rightly.
 */
export type CallCredit = 'sum' | 'mean' | 'distinct';

/** What counts as success, and how actions count in addition. */
export interface ToolPoOptions {
  /** R_success; it must leave the part `raw` (default: `accuracy()`). */
  readonly success?: RewardFunction;
  /** The calls that answer a question; null = unknown (default: its `task.gold`). */
  readonly gold?: (question: Question) => CallGold | null;
  /** λ1 (default 1). */
  readonly callWeight?: number;
  /** λ2 (default 1). */
  readonly foldWeight?: number;
  /** Default `sum`. */
  readonly credit?: CallCredit;
}

/**
 * Parts: those of `success`, `calls` (ΣC), `fold` (S), `action` (R_action), and, to look at, how many calls
 * were `attempted` and how many of them were `right`.
 */
export function toolPo(options: ToolPoOptions = {}): RewardFunction {
  const { success = accuracy(), gold = goldOf, credit = 'sum' } = options;
  const { callWeight = 1, foldWeight = 1 } = options;
  return async (group, signal) => {
    const succeeded = await success(group, signal);
    const wanted = gold(group.question);
    const folded = foldPreferences(lengthsOf(group));
    return succeeded.map(({ score, parts }, i): Reward => {
      const made = callsOf(group.rollouts?.[i]);
      const verdicts = callVerdicts(made, wanted);
      const calls = callCredit(made, verdicts, credit);
      const fold = folded[i]!;
      const action = callWeight * calls + foldWeight * fold;
      const right = callCredit(made, verdicts, 'sum');
      const seen = { attempted: made.length, right };
      return { score, parts: { ...parts, calls, fold, action, ...seen } };
    });
  };
}

/** ΣC of an episode. */
export function callCredit(
  calls: readonly Pick<CreditedCall, 'name'>[],
  verdicts: readonly CallVerdict[],
  credit: CallCredit,
): number {
  const right = calls.filter((_, i) => verdicts[i] === 'correct');
  switch (credit) {
    case 'sum':
      return right.length;
    case 'mean':
      return calls.length === 0 ? 0 : right.length / calls.length;
    case 'distinct':
      return new Set(right.map(({ name }) => name)).size;
    default:
      throw new Error(`unknown credit '${credit satisfies never}'`);
  }
}

/** The calls of an episode; empty for any other rollout. */
function callsOf(rollout: Rollout | undefined): readonly CreditedCall[] {
  return rollout === undefined ? [] : episodeOf(rollout).calls;
}

function lengthsOf({ rollouts = [], lengths, policyLengths = lengths }: GroupForReward) {
  return policyLengths.map((length, i) => ({
    length,
    folds: rollouts[i]?.episode?.folds.length ?? 0,
    failed: rollouts[i]?.status === 'failed',
  }));
}
