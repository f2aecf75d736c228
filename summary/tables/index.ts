/** Tables of results. */
export { stageColumns } from './stages.ts';
