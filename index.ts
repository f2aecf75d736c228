export * from './model/config.ts';
export * from './model/draws.ts';
export * from './model/engine.ts';
export * from './model/wordTokenizer.ts';
export * from './operators/rollout/resultBlock.ts';
export { EmbeddedTrainer } from './model/train/trainer.ts';
export { EmbeddedEngine } from './model/rollout/embeddedEngine.ts';
