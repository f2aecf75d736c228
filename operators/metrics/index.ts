/** What is measured of rollouts and evaluations. */
export { type NamedNumbers, behaviour } from './behaviour.ts';
export { benchmark, judgedBenchmark } from './benchmark.ts';
export { numberDifference, shareDifference } from './difference.ts';
export { type Evaluation, type MeanFigure, byQuestion, callsWhenRight, evaluation, meanFigures } from './evaluation.ts';
export { execution } from './execution.ts';
export { type Interval, meanInterval, ratioDifference, ratioInterval, shareInterval } from './interval.ts';
export { type AskModel, type Jury, type JuryOptions, type JuryRequest, jury } from './jury.ts';
export { type BenchmarkRow, type BenchmarkTable, type TableNumbers, type TableOptions, benchmarkTable } from './table.ts';
