/** The report as text. */
export { benchmarkText } from './benchmarkText.ts';
export { colours } from './colours.ts';
export { liveLines } from './liveText.ts';
export { jsonText, plain } from './plain.ts';
export { reportText } from './reportText.ts';
export { table } from './table.ts';
export { folded, wrapped } from './wrapped.ts';
