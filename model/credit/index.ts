/** Advantages of groups and of tokens. */
export { type Attribution, attribute } from './attribution.ts';
export { type AdvantageEstimator, type AdvantageName, advantageEstimators } from './estimators.ts';
export type { GroupAdvantage, ScoreAdvantage } from './group.ts';
export { type GrpoOptions, grpo } from './grpo.ts';
export { type LagCorrection, lagCorrected } from './lagCorrection.ts';
export { actionMask, withActions } from './toolPo.ts';
export { whitened } from './whitened.ts';
