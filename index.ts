/**
 * Millrace's public face: what a job file needs, and the interfaces that a user implements.
 */
export * from './jobs/calibrate.ts';
export * from './jobs/calibrateSettings.ts';
export * from './jobs/defineJob.ts';
export * from './jobs/plan.ts';
export * from './model/config.ts';
export * from './model/draws.ts';
export * from './model/engine.ts';
export { EmbeddedEngine } from './model/rollout/embeddedEngine.ts';
export { EmbeddedTrainer } from './model/train/trainer.ts';
export * from './model/wordTokenizer.ts';
export * from './operators/advantages/grpo.ts';
export * from './operators/batch.ts';
export * from './operators/callTools.ts';
export * from './operators/gate.ts';
export * from './operators/measure.ts';
export * from './operators/metrics/evaluation.ts';
export * from './operators/paretoSample.ts';
export * from './operators/practice.ts';
export * from './operators/rewards/accuracy.ts';
export * from './operators/rewards/efficiency.ts';
export * from './operators/rewards/reward.ts';
export * from './operators/rollout/resultBlock.ts';
export * from './operators/rollout.ts';
export * from './operators/sampling/arpo.ts';
export * from './operators/score.ts';
export * from './operators/tools/python/pythonTool.ts';
export * from './operators/tools/search/corpus.ts';
export * from './operators/tools/search/searchTool.ts';
export * from './operators/tools/tool.ts';
export * from './sinks/files.ts';
export * from './sinks/progress.ts';
export * from './sinks/trainer.ts';
export * from './sinks/weights.ts';
export * from './sources/questions.ts';
export * from './streams/index.ts';
