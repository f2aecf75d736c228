/** Runs of W&B, offline. */
export { wandb } from './wandb.ts';
