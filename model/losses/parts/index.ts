/** Parts that losses share. */
export { at, checkReferences, inFloat32, perTarget, references, scalar } from './feeds.ts';
export { type RolloutInputs, type TallyToken, rolloutFeeds, rolloutInputs, rolloutMetrics, rolloutTally, rowWeights, vectorOf } from './rollouts.ts';
export { type KlEstimate, type TermSettings, type Terms, klPerToken, termFeeds, termSettings, termsOf, withTerms } from './terms.ts';
export { type Aggregation, type WeighedSequence, aggregation, tokenWeights } from './tokenWeights.ts';
