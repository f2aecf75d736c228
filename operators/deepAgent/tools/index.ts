/** Tools that DeepAgent finds while it works. */
export { functionText } from './indexText.ts';
export { readLibrary } from './readLibrary.ts';
export type { ToolDoc } from './toolDoc.ts';
