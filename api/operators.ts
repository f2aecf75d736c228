/**
 * `millrace/operators`: what methods are made of: rollout, branching, tools, rewards, sampling, batches, the
 * flywheel, metrics.
 */

export type { ToolDoc, ToolParameters } from '../base/functions/index.ts';
export { type RoundRateOptions, roundRate } from '../operators/batching/index.ts';
export {
  type ColdStartHints,
  type ColdStartOptions,
  coldStartFindings,
  coldStartPool,
} from '../operators/coldStart/index.ts';
export {
  type DeepDialect,
  type DeepDialectOptions,
  deepDialect,
  type EpisodeMode,
  type FirstMessage,
  type FirstMessageOf,
  foldPrompt,
  type Memories,
  memoryKinds,
  type NoticeKind,
  noticeText,
  type PromptForm,
  pythonJson,
} from '../operators/deepAgent/index.ts';
export { functionText } from '../operators/deepAgent/tools/index.ts';
export {
  type AskedBy,
  type Declared,
  type Dialect,
  type DialectCall,
  encodeExample,
  type Fence,
  type FenceMarks,
  type FormatFault,
  fenceFor,
  formatFault,
  type Part,
  type ResultBlock,
  type ResultTokens,
  resultBlock,
  type Stop,
  type Turn,
} from '../operators/dialect/index.ts';
export {
  type ActionContext,
  type AskAs,
  type Complete,
  type CompletionRequest,
  defaultActions,
  type EvolveAction,
  type EvolvedTrajectory,
  type FlywheelOptions,
  type FlywheelRun,
  type Grow,
  type Hints,
  loadPrompts,
  type Models,
  type Prompts,
  type Role,
  rerollout,
  type TurnReport,
} from '../operators/evolve/index.ts';
export {
  type Admission,
  type AnswersIn,
  type BatchOptions,
  batch,
  type CallOrigin,
  type CallTool,
  type CallToolsOptions,
  type CurriculumOptions,
  callTools,
  curriculum,
  type DemonstrationOrder,
  type DemonstrationsOptions,
  demonstrations,
  type EvolveOptions,
  evolve,
  type MeasureOptions,
  measure,
  type PairsOptions,
  type ParetoOptions,
  type PolicyGate,
  type PoolFindings,
  pairs,
  paretoSample,
  type Quotas,
  rollout,
  type ScoreOptions,
  score,
} from '../operators/index.ts';
export {
  type AskModel,
  type Grader,
  type GraderName,
  graderOf,
  type Jury,
  type JuryOptions,
  type JuryRequest,
  judgedBenchmark,
  jury,
} from '../operators/metrics/graders/index.ts';
export {
  type BenchmarkRow,
  type BenchmarkTable,
  benchmarkTable,
  type Evaluation,
  evaluation,
  execution,
  type Interval,
  type NamedNumbers,
  type TableNumbers,
  type TableOptions,
} from '../operators/metrics/index.ts';
export {
  allPairs,
  type Candidate,
  type Criterion,
  type CriterionResult,
  type GuidedOptions,
  preAlignedBoth,
  preAlignedGuided,
  preAlignedVanilla,
  type SelfCriticOptions,
  type SortKey,
  selfCritic,
  selfEvolved,
  sortedBy,
  type ToolLightOptions,
} from '../operators/preferences/index.ts';
export {
  accuracy,
  type CallForReward,
  deepResearch,
  type EfficiencyOptions,
  efficiency,
  type FormOf,
  type GroupForReward,
  type HierarchicalOptions,
  hierarchical,
  type KnowledgeScore,
  ownTexts,
  type PureReward,
  perRollout,
  perRolloutAsync,
  type RewardFunction,
  type RolloutForReward,
  type Sigma,
  type WeightedTerm,
  weighted,
} from '../operators/rewards/index.ts';
export {
  type CallCredit,
  type CallGold,
  type GoldCall,
  type ToolPoOptions,
  toolPo,
} from '../operators/rewards/toolPo/index.ts';
export type { Helping, RolloutOptions } from '../operators/rollout/index.ts';
export {
  type AepoOptions,
  type ArpoOptions,
  aepo,
  arpo,
  type Branching,
  type EntropyGuided,
  type Objective,
  type SplitBudget,
} from '../operators/sampling/index.ts';
export {
  type Asked,
  type AskOnce,
  askOnce,
  type CacheEntry,
  type CacheKind,
  type CachePlace,
  type Known,
  openToolCache,
  type ToolCache,
  type ToolCacheOptions,
} from '../operators/tools/cache/index.ts';
export {
  type Called,
  type CallSituation,
  pureTool,
  type Tool,
  type ToolboxOptions,
  type ToolResult,
  toolDown,
} from '../operators/tools/index.ts';
export {
  type NamedPackage,
  type PythonOptions,
  pythonTool,
} from '../operators/tools/python/index.ts';
export {
  bm25Retriever,
  type Hit,
  type Passage,
  type Retriever,
} from '../operators/tools/retrieval/index.ts';
export {
  type Found,
  readCorpus,
  type SearchDocument,
  type SearchOptions,
  searchTool,
} from '../operators/tools/search/index.ts';
export {
  type AskSimulator,
  modelWorld,
  ruleWorld,
  type SimulatedSpec,
  type SimulatorOptions,
  simulatedTool,
  type ToolWorld,
  type WorldCall,
} from '../operators/tools/simulator/index.ts';
export {
  bing,
  type ProviderOptions,
  type SearchProvider,
  searxng,
  serper,
} from '../operators/tools/web/providers/index.ts';
