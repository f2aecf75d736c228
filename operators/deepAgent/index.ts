/** DeepAgent's episodes: actions, memories, folds. */
export {
  type DeepDialect,
  type DeepDialectOptions,
  deepDialect,
  type FirstMessageOf,
} from './deepDialect.ts';
export type { EpisodeMode } from './episode.ts';
export { type AskAuxiliary, episodeTools } from './episodeTools.ts';
export { type FirstMessage, foldPrompt } from './foldPrompt.ts';
export { foldRecords } from './foldRecords.ts';
export { growEpisodes } from './growEpisodes.ts';
export { type Memories, memoryKinds } from './memories.ts';
export { type NoticeKind, noticeText } from './notices.ts';
export { type PromptForm, promptForms } from './prompts.ts';
export { pythonJson } from './pythonJson.ts';
