/**
 * `millrace/jobs`: the methods, their settings, and the pieces that a method of one's own is wired from.
 */
export * from './calibrate.ts';
export * from './deepAgent.ts';
export * from './defineJob.ts';
export * from './etAgent.ts';
export * from './evaluate.ts';
export * from './everyQuestion.ts';
export * from './finetune.ts';
export * from './flywheel.ts';
export { sameInputs, tokenizerFiles } from './inputs.ts';
export { LiveHandle, type LiveSettings, mayChange } from './live.ts';
export * from './lossSettings.ts';
export * from './method.ts';
export * from './parts/deepParts.ts';
export {
  type DialectName,
  type DialectOptions,
  dialectNames,
  dialectOf,
} from './parts/dialectOf.ts';
export * from './parts/engines.ts';
export type { PartKind } from './parts/kinds.ts';
export * from './parts/places.ts';
export { findPolicy, type PolicyPlace } from './parts/policyPlace.ts';
export { PROMPT_FILE, type PromptRecord, promptRecord } from './parts/promptRecord.ts';
export * from './parts/trainers.ts';
export * from './plan.ts';
export * from './policyLoop.ts';
export * from './policyModel.ts';
export * from './policySettings.ts';
export * from './prefer.ts';
export * from './ready/parts.ts';
export * from './ready/presets.ts';
export * from './roles.ts';
export * from './sft/data.ts';
export { dataPromptLines } from './sft/dataPrompt.ts';
export * from './sft/parts.ts';
export * from './sft/settings.ts';
export * from './sft/sft.ts';
export * from './toolLight.ts';
export * from './toolStar.ts';
