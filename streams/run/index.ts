/** Runs a flow: stages, sources, what they are doing. */
export { collectGarbage } from './collectGarbage.ts';
export { type FlowEnd, type FlowStats, type RunOptions, runFlow } from './runFlow.ts';
export { itemsOf, pulled, type SourceStats } from './sourceRunner.ts';
export type { StageStats } from './stageStats.ts';
export {
  reportStatus,
  STATUS_MS,
  type StatusOptions,
  type StatusReporter,
  type WorkerId,
  type WorkerStatus,
} from './workerStatus.ts';
