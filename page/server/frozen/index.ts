/** The page of a run in one file. */
export { reportFile } from './reportFile.ts';
