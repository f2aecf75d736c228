/** Models that take and give text: servers, scripted ones, policies. */
export { type CachedOptions, cached } from './cached.ts';
export { type TextModelParts, type TextModelSettings, configuredTextModel, samplingOf, textModelSettings } from './configured.ts';
export { type EnginePolicyOptions, enginePolicy } from './enginePolicy.ts';
export { type OpenAiOptions, openAi } from './openAi.ts';
export { type ReplyStore, openReplies } from './replyStore.ts';
export { type Script, scripted } from './scripted.ts';
export { type TextModel, type TextRequest, type TextSampling, cutAfterStop } from './textModel.ts';
