/** The embedded trainer. */
export { microBatchTokens } from './microBatches.ts';
export { VOCABULARY_CHUNK } from './trainGraph.ts';
export { EmbeddedTrainer, trainerDefaults } from './trainer.ts';
