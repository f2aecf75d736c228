/** What is measured of rollouts and evaluations. */
export { behaviour, type NamedNumbers } from './behaviour.ts';
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
export {
  type Interval,
  meanInterval,
  ratioDifference,
  ratioInterval,
  shareInterval,
} from './interval.ts';
export { type Necessities, necessities } from './necessities.ts';
export {
  type BenchmarkRow,
  type BenchmarkTable,
  benchmarkTable,
  type TableNumbers,
  type TableOptions,
} from './table.ts';
