/** Ready jobs and presets. */
export { jobsByFile } from './jobs.ts';
