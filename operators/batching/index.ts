/** How groups become steps. */
export { byStep } from './bySteps.ts';
export { type RoundRateOptions, roundRate } from './learningRate.ts';
export type { ClassMix } from './mix.ts';
