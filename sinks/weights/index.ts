/** The manifests of a run's weights, and the checkpoints they name. */
export { checkpointsOf, weightsStore } from './weights.ts';
