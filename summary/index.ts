/** What is known about a run. */
export { differencesOf } from './certainty.ts';
export { type ComparedMetric, compareMetrics } from './comparison.ts';
export { isLive, isOld, type Live, type StageRow } from './live.ts';
export { metricNames } from './metricNames.ts';
export { roundNames } from './phases.ts';
export { completeRounds, type Reading, readMetrics, readRun } from './reading.ts';
export { type RunState, stateOf } from './state.ts';
export { type Achieved, readAchieved, type Summary, summarise } from './summary.ts';
export { Watch } from './watch.ts';
export { statusesIn, Workers } from './workers.ts';
