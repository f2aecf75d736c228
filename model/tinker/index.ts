/** Training services of the Tinker interface. */
export { TinkerTrainer, adamDefaults } from './trainer.ts';
