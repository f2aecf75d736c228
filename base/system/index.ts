/** What the operating system knows: limits, processes, its errors as sentences. Loads nothing else. */
export { openFilesMax } from './platform.ts';
export { outOfFiles } from './systemError.ts';
