/** Metrics to systems outside, late and resumable. */
export type { RunAbout, RunEnd } from './exportMetrics.ts';
export { mirror } from './mirror.ts';
