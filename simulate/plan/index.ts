/** What-if: a job on a cluster that is described, or learned from a run, in virtual time. */
export { type Cluster, clusterSettings } from './cluster.ts';
export { learned } from './learned.ts';
export { plannedRun } from './plannedRun.ts';
export { drawnSamples, recordedSamples } from './samples.ts';
export { type Case, planText } from './text.ts';
