/**
 * `millrace/model`: policies and what trains them: engines and trainers, checkpoints, Hugging Face folders, adapters,
 * servers and their wires, tokenizers, models of text, losses' names, advantages.
 */

export { type SleepClock, sleepClock } from '../base/sleepClock.ts';
export { Float, parseJson } from '../jinja/index.ts';
export type { CheckpointStore, Condition } from './checkpoints/checkpointStore.ts';
export { checkpointsIn } from './checkpoints/checkpointsIn.ts';
export * from './config.ts';
export * from './credit/attribution.ts';
export * from './credit/estimators.ts';
export * from './credit/group.ts';
export * from './credit/grpo.ts';
export * from './credit/lagCorrection.ts';
export * from './engine.ts';
export * from './hf/adapterFiles.ts';
export type {
  ChatContentPart,
  ChatMessage,
  ChatOptions,
  ChatToolCall,
} from './hf/chatTemplate.ts';
export * from './hf/grownChat.ts';
export { type OpenPolicy, openPolicy } from './hf/loadPolicy.ts';
export * from './hf/loadTokenizer.ts';
export * from './hf/lora.ts';
export { inMemory, type TensorSource } from './hf/tensorSource.ts';
export { type FolderOptions, type SavedFolder, writeFolder } from './hf/writeFolder.ts';
export {
  type LossName,
  losses,
  type NamedLoss,
  type SettingsOf,
} from './losses/index.ts';
export type { CanaryOptions, Expected } from './remote/canary.ts';
export {
  type FolderOf,
  type Published,
  type Publisher,
  type Publishing,
  publishAdapter,
  publishByRoute,
  publishFromDisk,
  type Servers,
} from './remote/publish.ts';
export { RemoteEngine, type RemoteEngineOptions } from './remote/remoteEngine.ts';
export {
  type ServedAs,
  type ServedFolders,
  type ServedFoldersOptions,
  servedFolders,
} from './remote/servedFolders.ts';
export {
  type ServerName,
  type ServerPlace,
  type ServerSettings,
  serverEngine,
  serverSettings,
} from './remote/serverEngine.ts';
export type { AskOptions } from './remote/serverPool.ts';
export {
  type AdapterWire,
  type ContextMaxWire,
  type Generated,
  type LabelWire,
  listedContextMax,
  type ModelsWire,
  type ReplacementWire,
  type ScoreWire,
  type ServerWire,
  type Serving,
  samplingParameters,
  TOP_LOG_PROBS,
  type WireRequest,
} from './remote/serverWire.ts';
export { sglang } from './remote/sglang.ts';
export { vllm } from './remote/vllm.ts';
export { EmbeddedEngine } from './rollout/embeddedEngine.ts';
export { type TokenBytes, tokenBytes } from './rollout/tokenBytes.ts';
export { type Provider, providers } from './runtime/provider.ts';
export * from './sampling.ts';
export { type CachedOptions, cached } from './text/cached.ts';
export {
  configuredTextModel,
  samplingOf,
  type TextModelParts,
  type TextModelSettings,
  textModelSettings,
} from './text/configured.ts';
export * from './text/enginePolicy.ts';
export { type OpenAiOptions, openAi } from './text/openAi.ts';
export { openReplies, type ReplyStore } from './text/replyStore.ts';
export * from './text/scripted.ts';
export * from './text/textModel.ts';
export { TinkerTrainer, type TinkerTrainerOptions } from './tinker/trainer.ts';
export type { AdapterOptions } from './train/trainee.ts';
export { EmbeddedTrainer } from './train/trainer.ts';
export * from './wordTokenizer.ts';
