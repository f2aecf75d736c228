/** Decides whether an answer is right: judges, rules, and the reward of an evaluation made from them. */
export { judgedBenchmark } from './benchmark.ts';
export type { Grader } from './grader.ts';
export { type GraderName, graderNames, graderOf } from './graderOf.ts';
export { gradingLines } from './gradingLines.ts';
export { type AskModel, type Jury, type JuryOptions, type JuryRequest, jury } from './jury.ts';
