/** Rewards of groups of rollouts. */
export { accuracy, type KnowledgeScore } from './accuracy.ts';
export { deepResearch } from './deepResearch.ts';
export { type EfficiencyOptions, efficiency, type Sigma, sigmaFactor } from './efficiency.ts';
export { type HierarchicalOptions, hierarchical } from './hierarchical.ts';
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
