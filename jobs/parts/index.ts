/** Parts of a job that settings choose: engines, trainers, tools, prompts. */
export { checkPolicy } from './checkPolicy.ts';
export {
  askedBefore,
  chosenPrompt,
  dialectSetting,
  sayPrompt,
  systemFile,
  systemSetting,
} from './chosenPrompt.ts';
export { corpusRows } from './corpusRows.ts';
export { type DeepParts, deepParts, type LibrarySettings, librarySettings } from './deepParts.ts';
export { type DialectName, type DialectOptions, dialectNames, dialectOf } from './dialectOf.ts';
export type { EngineSettings } from './engines.ts';
export { MCP_FILE } from './mcpTools.ts';
export { besideWeights, findPolicy, type PolicyPlace } from './policyPlace.ts';
export { checkEngineFits, checkVocabulary } from './promptLimit.ts';
export {
  PROMPT_FILE,
  type PromptRecord,
  promptIn,
  promptRecord,
  QUESTION,
  recordedPrompt,
  writePrompt,
} from './promptRecord.ts';
export { pythonOf, pythonSettings } from './pythonOf.ts';
export {
  notRead,
  type OwnParts,
  type OwnSettings,
  type ReadyParts,
  type ReadySettings,
  readyParts,
  readySettings,
  roleSettings,
} from './readyParts.ts';
export { type RetrieverPlace, retrieverAt } from './retrieverAt.ts';
export type { TrainerSettings } from './trainers.ts';
