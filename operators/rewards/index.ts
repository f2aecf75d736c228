/** Rewards of groups of rollouts. */
export { type KnowledgeScore, accuracy } from './accuracy.ts';
export { deepResearch } from './deepResearch.ts';
export { type EfficiencyOptions, type Sigma, efficiency, sigmaFactor } from './efficiency.ts';
export { type HierarchicalOptions, hierarchical } from './hierarchical.ts';
export { type FormOf, type GroupForReward, type PureReward, type RewardFunction, type RolloutForReward, type WeightedTerm, ownTexts, perRollout, perRolloutAsync, weighted } from './reward.ts';
