/** Runs a flow: stages, sources, what they are doing. */
export { type FlowEnd, type FlowStats, type RunOptions, runFlow } from './runFlow.ts';
export { type SourceStats, itemsOf, pulled } from './sourceRunner.ts';
export type { StageStats } from './stageStats.ts';
export { STATUS_MS, type StatusOptions, type StatusReporter, type WorkerId, type WorkerStatus, reportStatus } from './workerStatus.ts';
