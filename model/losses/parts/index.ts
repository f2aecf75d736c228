/** Parts that losses share. */
export { at, checkReferences, inFloat32, perTarget, references, scalar } from './feeds.ts';
export {
  type RolloutInputs,
  rolloutFeeds,
  rolloutInputs,
  rolloutMetrics,
  rolloutTally,
  rowWeights,
  type TallyToken,
  vectorOf,
} from './rollouts.ts';
export {
  type KlEstimate,
  klPerToken,
  type TermSettings,
  type Terms,
  termFeeds,
  termSettings,
  termsOf,
  withTerms,
} from './terms.ts';
export {
  type Aggregation,
  aggregation,
  tokenWeights,
  type WeighedSequence,
} from './tokenWeights.ts';
