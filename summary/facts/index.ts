/** What `run.json` says of a run, for those that read it and for summaries. */
export { type ChangedSetting, type RunFacts, type RunStatus, runStatuses } from './facts.ts';
