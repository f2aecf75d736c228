/** Parts of a job that settings choose: engines, trainers, tools, prompts. */
export { checkPolicy } from './checkPolicy.ts';
export { askedBefore, chosenPrompt, dialectSetting, sayPrompt, systemFile, systemSetting } from './chosenPrompt.ts';
export { type DeepParts, type LibrarySettings, deepParts, librarySettings } from './deepParts.ts';
export type { EngineSettings } from './engines.ts';
export { type PolicyPlace, besideWeights, findPolicy } from './policyPlace.ts';
export { checkEngineFits, checkVocabulary } from './promptLimit.ts';
export { PROMPT_FILE, type PromptRecord, QUESTION, bringsDialect, promptIn, promptRecord, recordedPrompt, writePrompt } from './promptRecord.ts';
export { type OwnParts, type OwnSettings, type ReadyParts, type ReadySettings, notRead, readyParts, readySettings, roleSettings } from './readyParts.ts';
export type { TrainerSettings } from './trainers.ts';
