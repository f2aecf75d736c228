/** Tables of results. */
export { changeIntervalText, changeOf, directionOf, figures } from './figures.ts';
export {
  beforeAfterTable,
  phaseLines,
  roundsNote,
  roundsTable,
  trainingTable,
} from './results.ts';
export { stageColumns } from './stages.ts';
