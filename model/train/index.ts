/** The embedded trainer. */
export { microBatchTokens } from './microBatches.ts';
export { EmbeddedTrainer, trainerDefaults } from './trainer.ts';
export { VOCABULARY_CHUNK } from './trainGraph.ts';
