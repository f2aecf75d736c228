/**
 * Text on its way to a terminal: whatever is in it, the terminal obeys nothing but ends of lines and the
 * colours that we set.
 */
import { visibleLines } from './visible.ts';

const COLOUR = /* @__PURE__ */ new RegExp(`(${'\u001b'}\\[[0-9;]{1,8}m)`);

export function terminalText(text: string): string {
  // Every second part is a colour.
  const parts = text.split(COLOUR);
  return parts.map((part, i) => (i % 2 === 1 ? part : visibleLines(part))).join('');
}
