/** Fine-tuning on conversations. */
export { type DataPlace, type DataTokenizer, type SftData, openData } from './data.ts';
export { dataPromptLines } from './dataPrompt.ts';
export { type SftJobSettings, sftParts } from './parts.ts';
export { type SftSettings, sftSettings } from './settings.ts';
export { type SftParts, type SftRun, learnData, sft } from './sft.ts';
