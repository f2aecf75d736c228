/** Rewards for groups of rollouts. */
export { accuracy, correctness, type KnowledgeScore } from './accuracy.ts';
export type { CallForReward } from './calls.ts';
export { deepResearch } from './deepResearch.ts';
export { type EfficiencyOptions, efficiency, type Sigma, sigmaFactor } from './efficiency.ts';
export { type HierarchicalOptions, hierarchical } from './hierarchical.ts';
export { type MathVerifier, mathVerifier } from './mathVerify.ts';
export {
  type FormOf,
  type GroupForReward,
  ownTexts,
  type PureReward,
  perRollout,
  perRolloutAsync,
  type RewardFunction,
  type RolloutForReward,
  type WeightedTerm,
  weighted,
} from './reward.ts';
export { sessionReward } from './sessionReward.ts';
export { toolStarOutcome, type VerifyAnswer } from './toolStar.ts';
export { verifiedMath } from './verifiedMath.ts';
