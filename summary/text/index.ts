/** The report as text. */
export { benchmarkText } from './benchmarkText.ts';
export { liveLines } from './liveText.ts';
export { askedOf, trainedOf } from './reportLines.ts';
export { reportText } from './reportText.ts';
