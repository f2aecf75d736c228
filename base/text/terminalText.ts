/**
 * Text for a terminal: whatever it contains, the terminal interprets only ends of lines and our own colours.
 */
import { visibleLines } from './visible.ts';

const COLOUR = /* @__PURE__ */ new RegExp(`(${'\u001b'}\\[[0-9;]{1,8}m)`);

export function terminalText(text: string): string {
  // Every second part is a colour.
  const parts = text.split(COLOUR);
  return parts.map((part, i) => (i % 2 === 1 ? part : visibleLines(part))).join('');
}
