/** The Hugging Face Hub: a model's files, downloaded into its cache or into a folder. */
export { cachedModel, hubCache, modelName } from './cache.ts';
export { type PullPlan, pullModel } from './pull.ts';
