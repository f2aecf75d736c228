/** Settings files of other trainers. */
export { foreignSettings, isForeign } from './foreignSettings.ts';
