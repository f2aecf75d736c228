/** The manifests of a run's weights, and the checkpoints that they name. */
export { checkpointsOf, weightsStore } from './weights.ts';
