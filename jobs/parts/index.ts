/** Parts of a job that settings choose: engines, trainers, tools, prompts. */
export { checkPolicy } from './checkPolicy.ts';
export {
  type AskedBefore,
  askedBefore,
  chosenPrompt,
  dialectSetting,
  promptSetting,
  sayPrompt,
  systemFile,
  systemSetting,
} from './chosenPrompt.ts';
export { type DeepParts, deepParts, type LibrarySettings, librarySettings } from './deepParts.ts';
export type { EngineSettings } from './engines.ts';
export { helperSettings, helpersOf } from './helpers.ts';
export { besideWeights, findPolicy, type PolicyPlace } from './policyPlace.ts';
export { checkEngineFits, checkVocabulary } from './promptLimit.ts';
export {
  bringsDialect,
  PROMPT_FILE,
  type PromptRecord,
  promptIn,
  promptRecord,
  QUESTION,
  recordedPrompt,
  writePrompt,
} from './promptRecord.ts';
export {
  notRead,
  type OwnParts,
  type OwnSettings,
  type ReadyParts,
  type ReadySettings,
  readyParts,
  readySettings,
  roleSettings,
  rolesOf,
} from './readyParts.ts';
export type { TrainerSettings } from './trainers.ts';
