/** Training services of the Tinker interface. */
export { adamDefaults, TinkerTrainer } from './trainer.ts';
