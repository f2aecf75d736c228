/** Web pages as text. */
export { browseTool } from './browseTool.ts';
export { extracts, pageParser } from './pageParser.ts';
export { pageReader, type ReadPage } from './pageReader.ts';
export { readerService } from './readerService.ts';
export { webPages } from './webPages.ts';
