/** Preference pairs: self-critic and Tool-Light's criteria. */
export { type Candidate, type Criterion, type CriterionResult, type SortKey, allPairs, sortedBy } from './candidate.ts';
export { type SelfCriticOptions, selfCritic } from './selfCritic.ts';
export { type GuidedOptions, type ToolLightOptions, preAlignedGuided, preAlignedVanilla, selfEvolved } from './toolLight.ts';
