/**
 * The advantage estimators by the names that settings give them (docs/losses.md says which to choose).
 *
 * An estimator has two halves: what `score` can compute of a group by itself, and whether the trainer whitens
 * the advantages of a whole batch over its policy tokens (`whitened`). GAE and ReMax are not among them: they
 * require a value model and a greedy rollout, which no job has.
 */
import { centredOrOwn, type GroupAdvantage } from './group.ts';
import { grpo } from './grpo.ts';
import { grpoPassk } from './grpoPassk.ts';
import { opo } from './opo.ts';
import { rloo } from './rloo.ts';
import { toolPo } from './toolPo.ts';

/** How scores become advantages: first within each group, then, for some, over the whole batch. */
export interface AdvantageEstimator {
  readonly group: GroupAdvantage;
  /** Whiten over the policy tokens of the batch. */
  readonly whiten: boolean;
  /**
   * Of the reward's part `action`, an advantage for the tokens of actions alone; left out = none.
   */
  readonly actions?: GroupAdvantage;
}

const ofGroup = (group: GroupAdvantage): AdvantageEstimator => ({ group, whiten: false });
const ofBatch = (group: GroupAdvantage): AdvantageEstimator => ({ group, whiten: true });

/** The estimators by name; each file of this folder gives its formula. */
export const advantageEstimators = {
  grpo: ofGroup(grpo()),
  drgrpo: ofGroup(grpo({ normByStd: false })),
  rloo: ofGroup(rloo()),
  opo: ofGroup(opo()),
  /** A group of one has no runner-up, and so no lead. */
  'grpo-passk': ofGroup((scores) =>
    scores.length < 2 ? scores.map(() => 0) : grpoPassk()(scores),
  ),
  /** With discount 1 every token's return is the score of its rollout. */
  'reinforce++': ofBatch((scores) => [...scores]),
  'reinforce++-baseline': ofBatch(centredOrOwn),
  /** The score is the success, the part `action` what the actions are worth. */
  toolpo: { ...ofGroup(toolPo()), actions: toolPo() },
} as const satisfies Readonly<Record<string, AdvantageEstimator>>;

/** A key of `advantageEstimators`: a value of the setting `advantage`. */
export type AdvantageName = keyof typeof advantageEstimators;
