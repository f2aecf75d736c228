/** What the operating system says: limits, processes, its errors in words. Loads nothing else. */
export { openFilesMax } from './platform.ts';
export { outOfFiles } from './systemError.ts';
