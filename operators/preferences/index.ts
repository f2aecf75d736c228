/** Preference pairs: self-critic and Tool-Light's criteria. */
export {
  allPairs,
  type Candidate,
  type Criterion,
  type CriterionResult,
  type SortKey,
  sortedBy,
} from './candidate.ts';
export { type SelfCriticOptions, selfCritic } from './selfCritic.ts';
export {
  type GuidedOptions,
  preAlignedBoth,
  preAlignedGuided,
  preAlignedVanilla,
  selfEvolved,
  type ToolLightOptions,
} from './toolLight.ts';
