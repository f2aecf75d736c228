/** Search on the web. */
export { type Summariser, summariser } from './summarise.ts';
export { type WebSearch, webSearch } from './webSearch.ts';
export { webSearchTool } from './webSearchTool.ts';
