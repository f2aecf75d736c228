/** What is measured of rollouts and evaluations. */
export { behaviour, type NamedNumbers } from './behaviour.ts';
export { judgedBenchmark } from './benchmark.ts';
export { taskSuccess, worldSuccess } from './deepAgent/taskScore.ts';
export { numberDifference, shareDifference } from './difference.ts';
export {
  byQuestion,
  callsWhenRight,
  type Evaluation,
  evaluation,
  type MeanFigure,
  meanFigures,
} from './evaluation.ts';
export { execution } from './execution.ts';
export type { Grader } from './graders/grader.ts';
export { type GraderName, graderNames, graderOf } from './graders/graderOf.ts';
export { gradingLines } from './gradingLines.ts';
export {
  type Interval,
  meanInterval,
  ratioDifference,
  ratioInterval,
  shareInterval,
} from './interval.ts';
export { type AskModel, type Jury, type JuryOptions, type JuryRequest, jury } from './jury.ts';
export { type Necessities, necessities } from './necessities.ts';
export {
  type BenchmarkRow,
  type BenchmarkTable,
  benchmarkTable,
  type TableNumbers,
  type TableOptions,
} from './table.ts';
