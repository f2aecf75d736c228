/**
 * Millrace's public face: what a job file needs, and the interfaces that a user implements.
 */

export * from './base/draws.ts';
export { type SleepClock, sleepClock } from './base/sleepClock.ts';
export * from './jobs/calibrate.ts';
export * from './jobs/defineJob.ts';
export * from './jobs/evaluate.ts';
export * from './jobs/finetune.ts';
export * from './jobs/flywheel.ts';
export * from './jobs/lossSettings.ts';
export * from './jobs/method.ts';
export * from './jobs/plan.ts';
export * from './jobs/policyLoop.ts';
export * from './jobs/policySettings.ts';
export * from './jobs/prefer.ts';
export * from './jobs/roles.ts';
export * from './jobs/toolLight.ts';
export * from './jobs/toolStar.ts';
export type { CheckpointStore, Condition } from './model/checkpoints/checkpointStore.ts';
export { checkpointsIn } from './model/checkpoints/checkpointsIn.ts';
export * from './model/config.ts';
export * from './model/credit/attribution.ts';
export * from './model/credit/estimators.ts';
export * from './model/credit/group.ts';
export * from './model/credit/grpo.ts';
export * from './model/credit/lagCorrection.ts';
export * from './model/engine.ts';
export * from './model/hf/adapterFiles.ts';
export type { ChatMessage, ChatOptions } from './model/hf/chatTemplate.ts';
export { type OpenPolicy, openPolicy } from './model/hf/loadPolicy.ts';
export * from './model/hf/loadTokenizer.ts';
export * from './model/hf/lora.ts';
export { inMemory, type TensorSource } from './model/hf/tensorSource.ts';
export { type FolderOptions, type SavedFolder, writeFolder } from './model/hf/writeFolder.ts';
export {
  type LossName,
  losses,
  type NamedLoss,
  type SettingsOf,
} from './model/losses/index.ts';
export {
  type FolderOf,
  type Published,
  type Publisher,
  type Publishing,
  publishAdapter,
  publishByRoute,
  publishFromDisk,
  type Servers,
} from './model/remote/publish.ts';
export { RemoteEngine, type RemoteEngineOptions } from './model/remote/remoteEngine.ts';
export {
  type AdapterWire,
  type ContextMaxWire,
  type Generated,
  listedContextMax,
  type ReplacementWire,
  type ServerWire,
  type Serving,
  samplingParameters,
  TOP_LOG_PROBS,
  type WireRequest,
} from './model/remote/serverWire.ts';
export { sglang } from './model/remote/sglang.ts';
export { vllm } from './model/remote/vllm.ts';
export { EmbeddedEngine, tokenTexts } from './model/rollout/embeddedEngine.ts';
export { type Provider, providers } from './model/runtime/provider.ts';
export * from './model/sampling.ts';
export { type CachedOptions, cached } from './model/text/cached.ts';
export {
  configuredTextModel,
  samplingOf,
  type TextModelParts,
  type TextModelSettings,
  textModelSettings,
} from './model/text/configured.ts';
export * from './model/text/enginePolicy.ts';
export { type OpenAiOptions, openAi } from './model/text/openAi.ts';
export { openReplies, type ReplyStore } from './model/text/replyStore.ts';
export * from './model/text/scripted.ts';
export * from './model/text/textModel.ts';
export type { AdapterOptions } from './model/train/trainee.ts';
export { EmbeddedTrainer } from './model/train/trainer.ts';
export * from './model/wordTokenizer.ts';
export * from './operators/batch.ts';
export * from './operators/batchExamples.ts';
export * from './operators/batching/learningRate.ts';
export * from './operators/batching/mix.ts';
export * from './operators/callTools.ts';
export * from './operators/coldStart/findings.ts';
export * from './operators/coldStart/hints.ts';
export * from './operators/coldStart/pool.ts';
export * from './operators/curriculum.ts';
export * from './operators/demonstrations.ts';
export * from './operators/dialect/resultBlock.ts';
export * from './operators/evolve/action.ts';
export * from './operators/evolve/actions.ts';
export type { FlywheelOptions } from './operators/evolve/context.ts';
export type {
  EvolvedTrajectory,
  FlywheelRun,
  Grow,
  TurnReport,
} from './operators/evolve/flywheel.ts';
export * from './operators/evolve/hints.ts';
export {
  byRole,
  type Complete,
  type CompletionRequest,
  type Models,
  type Role,
} from './operators/evolve/models.ts';
export { loadPrompts, type Prompts } from './operators/evolve/prompts.ts';
export * from './operators/evolve.ts';
export * from './operators/gate.ts';
export * from './operators/measure.ts';
export * from './operators/metrics/behaviour.ts';
export * from './operators/metrics/benchmark.ts';
export * from './operators/metrics/evaluation.ts';
export * from './operators/metrics/execution.ts';
export * from './operators/metrics/interval.ts';
export * from './operators/metrics/jury.ts';
export * from './operators/metrics/passAtK.ts';
export * from './operators/metrics/table.ts';
export * from './operators/pairs.ts';
export * from './operators/paretoFront.ts';
export * from './operators/paretoSample.ts';
export * from './operators/practice.ts';
export * from './operators/preferences/candidate.ts';
export * from './operators/preferences/selfCritic.ts';
export * from './operators/preferences/toolLight.ts';
export * from './operators/rewards/accuracy.ts';
export * from './operators/rewards/efficiency.ts';
export * from './operators/rewards/hierarchical.ts';
export * from './operators/rewards/reward.ts';
export * from './operators/rollout.ts';
export * from './operators/sampling/aepo.ts';
export * from './operators/sampling/arpo.ts';
export * from './operators/sampling/branching.ts';
export * from './operators/sampling/objectives.ts';
export * from './operators/sampling/watching.ts';
export * from './operators/schedule.ts';
export * from './operators/score.ts';
export * from './operators/tools/callTool.ts';
export * from './operators/tools/python/pythonTool.ts';
export * from './operators/tools/search/cacheKey.ts';
export * from './operators/tools/search/corpus.ts';
export * from './operators/tools/search/searchTool.ts';
export * from './operators/tools/tool.ts';
export * from './sinks/files.ts';
export * from './sinks/progress.ts';
export * from './sinks/trainer.ts';
export * from './sinks/weights.ts';
export { type DatasetOptions, datasetNames, findDataset, readDataset } from './sources/datasets.ts';
export * from './sources/questions.ts';
export * from './streams/index.ts';
