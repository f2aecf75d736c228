/** Fine-tuning on conversations. */
export { type DataPlace, type DataTokenizer, openData, type SftData } from './data.ts';
export { dataPromptLines } from './dataPrompt.ts';
export { type SftJobSettings, sftParts } from './parts.ts';
export { type SftSettings, sftSettings } from './settings.ts';
export { learnData, type SftParts, type SftRun, sft } from './sft.ts';
