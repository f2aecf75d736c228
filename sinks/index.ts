/** Consumers of records: the trainer, weights, metric files, announcements. */
export { foreignSink } from './foreignTopic.ts';
export { metricFiles, metricsIn, writeMetrics } from './metricFiles.ts';
export { Measuring } from './progress/measuring.ts';
export { progress } from './progress.ts';
export { type TrainerOptions, trainer } from './trainer.ts';
