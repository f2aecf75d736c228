/** The search tool and what it answers with. */
export { CorpusError, readCorpus } from './corpus.ts';
export { type Found, type SearchDocument, type SearchOptions, searchTool } from './searchTool.ts';
