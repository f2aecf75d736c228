/** Pipeable operators: rollout, score, Pareto sampling, batching, the gate. */
export { type BatchOptions, batch, batchSelected } from './batch.ts';
export { batchArrived } from './batchArrived.ts';
export { type BatchExamplesOptions, batchDemonstrations, batchPairs } from './batchExamples.ts';
export {
  type CallOrigin,
  type CallTool,
  type CallToolsOptions,
  callTools,
} from './callTools.ts';
export { type CurriculumOptions, curriculum } from './curriculum.ts';
export {
  type DemonstrationOrder,
  type DemonstrationsOptions,
  demonstrations,
  type PoolFindings,
} from './demonstrations.ts';
export { type EvolveOptions, evolve, type Quotas } from './evolve.ts';
export { type Admission, type PolicyGate, policyGate } from './gate.ts';
export { type MeasureOptions, measure } from './measure.ts';
export { type PairsOptions, pairs } from './pairs.ts';
export { type ParetoOptions, paretoSample } from './paretoSample.ts';
export { practice, practised } from './practice.ts';
export { type RolloutOptions, rollout } from './rollout.ts';
export { type AnswersIn, type ScoreOptions, score } from './score.ts';
