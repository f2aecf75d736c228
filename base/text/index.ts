/** Pure functions on text and numbers, for the browser too. */
export { boxContent, closingBrace, lastBoxed, unwrap } from './boxed.ts';
export { canonicalJson } from './canonicalJson.ts';
export { counted, thousands } from './counted.ts';
export { csvCell } from './csvCell.ts';
export { durationMs } from './duration.ts';
export { jsonIn } from './jsonIn.ts';
export { literal } from './literal.ts';
export { shellWord } from './shellWord.ts';
export { terminalText } from './terminalText.ts';
export { replaceHidden, visible, visibleLines } from './visible.ts';
