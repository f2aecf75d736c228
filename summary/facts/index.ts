/** What `run.json` says about a run, for its readers and for summaries. */
export { type ChangedSetting, type RunFacts, type RunStatus, runStatuses } from './facts.ts';
