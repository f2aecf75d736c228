/** Pure functions on text and numbers, also for the browser. */
export { boxContent, closingBrace, lastBoxed, unwrap } from './boxed.ts';
export { canonicalJson } from './canonicalJson.ts';
export { counted, thousands } from './counted.ts';
export { csvCell } from './csvCell.ts';
export { durationMs } from './duration.ts';
export { literal, shellWord } from './escaping.ts';
export { jsonIn } from './jsonIn.ts';
export { terminalText } from './terminalText.ts';
export { replaceHidden, visible, visibleLines } from './visible.ts';
