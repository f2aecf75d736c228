/** The embedded trainer. */
export { EmbeddedTrainer, trainerDefaults } from './trainer.ts';
