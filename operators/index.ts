/**
 * `millrace/operators`: what a method is made of: rollout, branching, tools, rewards, sampling, batches, the flywheel,
 * metrics.
 */

export * from './batch.ts';
export * from './batchExamples.ts';
export * from './batching/learningRate.ts';
export * from './batching/mix.ts';
export * from './callTools.ts';
export * from './coldStart/findings.ts';
export * from './coldStart/hints.ts';
export * from './coldStart/pool.ts';
export * from './curriculum.ts';
export {
  type DeepDialect,
  type DeepDialectOptions,
  deepDialect,
  type FirstMessageOf,
} from './deepAgent/deepDialect.ts';
export * from './deepAgent/episode.ts';
export * from './deepAgent/episodeTools.ts';
export { type FirstMessage, foldPrompt } from './deepAgent/foldPrompt.ts';
export type { EpisodeOptions } from './deepAgent/growEpisode.ts';
export { growEpisodes } from './deepAgent/growEpisodes.ts';
export { type Memories, type MemoryKind, memoryKinds } from './deepAgent/memories.ts';
export { type NoticeKind, noticeText } from './deepAgent/notices.ts';
export { type PromptForm, promptForms } from './deepAgent/prompts.ts';
export { pythonJson } from './deepAgent/pythonJson.ts';
export { functionText } from './deepAgent/tools/indexText.ts';
export { readLibrary } from './deepAgent/tools/readLibrary.ts';
export type { ToolDoc } from './deepAgent/tools/toolDoc.ts';
export * from './demonstrations.ts';
export * from './dialect/dialect.ts';
export { encodeExample, type ResultTokens } from './dialect/encodeExample.ts';
export { type Fence, type FenceMarks, fenceFor, ownWords } from './dialect/fence.ts';
export { type FormatFault, formatFault } from './dialect/format.ts';
export * from './dialect/native/chat.ts';
export { type NativeForm, nativeForms } from './dialect/native/forms.ts';
export * from './dialect/native/nativeDialect.ts';
export { specOf, type ToolSpec } from './dialect/native/toolCalls.ts';
export * from './dialect/resultBlock.ts';
export { withEmptyResults } from './dialect/results.ts';
export * from './dialect/tagsDialect.ts';
export * from './evolve/action.ts';
export * from './evolve/actions.ts';
export type { FlywheelOptions } from './evolve/context.ts';
export type {
  EvolvedTrajectory,
  FlywheelRun,
  Grow,
  TurnReport,
} from './evolve/flywheel.ts';
export * from './evolve/hints.ts';
export {
  byRole,
  type Complete,
  type CompletionRequest,
  type Models,
  type Role,
} from './evolve/models.ts';
export { loadPrompts, type Prompts } from './evolve/prompts.ts';
export * from './evolve.ts';
export * from './gate.ts';
export * from './measure.ts';
export * from './metrics/behaviour.ts';
export * from './metrics/benchmark.ts';
export * from './metrics/evaluation.ts';
export * from './metrics/execution.ts';
export * from './metrics/interval.ts';
export * from './metrics/jury.ts';
export * from './metrics/passAtK.ts';
export * from './metrics/table.ts';
export * from './pairs.ts';
export * from './paretoSample.ts';
export * from './practice.ts';
export * from './preferences/candidate.ts';
export * from './preferences/selfCritic.ts';
export * from './preferences/toolLight.ts';
export * from './rewards/accuracy.ts';
export { deepResearch } from './rewards/deepResearch.ts';
export * from './rewards/efficiency.ts';
export * from './rewards/hierarchical.ts';
export * from './rewards/reward.ts';
export type { CallGold, GoldCall } from './rewards/toolPo/callCredit.ts';
export * from './rewards/toolPo/toolPo.ts';
export * from './rollout.ts';
export * from './sampling/aepo.ts';
export * from './sampling/arpo.ts';
export * from './sampling/branching.ts';
export * from './sampling/entropyOnly.ts';
export * from './sampling/objectives.ts';
export * from './score.ts';
export * from './tools/cache/askOnce.ts';
export * from './tools/cache/keptTool.ts';
export * from './tools/cache/toolCache.ts';
export * from './tools/callTool.ts';
export * from './tools/pages/browseTool.ts';
export * from './tools/pages/pageReader.ts';
export * from './tools/pages/readerService.ts';
export * from './tools/pages/webPages.ts';
export * from './tools/python/pythonTool.ts';
export { bm25Retriever } from './tools/retrieval/bm25Retriever.ts';
export type { Hit, Passage, Retriever } from './tools/retrieval/retriever.ts';
export * from './tools/search/corpus.ts';
export * from './tools/search/searchTool.ts';
export * from './tools/simulator/simulatedTool.ts';
export * from './tools/simulator/world.ts';
export * from './tools/tool.ts';
export { bing } from './tools/web/providers/bing.ts';
export { type BrightDataOptions, brightData } from './tools/web/providers/brightData.ts';
export type { ProviderOptions, SearchProvider } from './tools/web/providers/provider.ts';
export { searxng } from './tools/web/providers/searxng.ts';
export { serper } from './tools/web/providers/serper.ts';
export { type TemplateOptions, template } from './tools/web/providers/template.ts';
export * from './tools/web/summarise.ts';
export * from './tools/web/webSearch.ts';
export * from './tools/web/webSearchTool.ts';
