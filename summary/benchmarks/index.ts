/** What an evaluation found. */
export { type Evaluated, readBenchmarks } from './benchmarks.ts';
