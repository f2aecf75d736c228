/** Models that take and give text: servers, scripted ones, policies. */
export { type CachedOptions, cached } from './cached.ts';
export {
  configuredTextModel,
  samplingOf,
  type TextModelParts,
  type TextModelSettings,
  textModelSettings,
} from './configured.ts';
export { type EnginePolicyOptions, enginePolicy } from './enginePolicy.ts';
export { type OpenAiOptions, openAi } from './openAi.ts';
export { openReplies, type ReplyStore } from './replyStore.ts';
export { samplingSettings } from './samplingSettings.ts';
export { type Script, scripted } from './scripted.ts';
export {
  cutAfterStop,
  type TextModel,
  type TextRequest,
  type TextSampling,
} from './textModel.ts';
