/** Progress of a run, for a terminal or as lines of JSON. */
export type { ProgressEvent, ProgressScreen, ProgressStatus } from './events.ts';
export { lineScreen } from './lineScreen.ts';
export { count, doneText, eventLine, leftText, measuringText } from './lines.ts';
