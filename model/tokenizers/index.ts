/** Tokenizers from folders, without the rest of a model: commands that only show text load no more. */
export type { LoadedTokenizer } from './loadedTokenizer.ts';
export { loadTokenizer } from './loadTokenizer.ts';
