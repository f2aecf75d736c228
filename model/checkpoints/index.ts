/** References to weights, and the stores that keep them. */
export type { CheckpointStore, Condition } from './checkpointStore.ts';
export { checkpointsIn } from './checkpointsIn.ts';
export { digestAt } from './digest.ts';
export { LOCAL_FOLDER, localPath } from './local.ts';
export { mustBeWhole } from './mustBeWhole.ts';
