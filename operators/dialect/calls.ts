/** Tool calls in text: which tool a piece calls, and with what (ET-Agent §2.1, §4.3). */
import { strip } from '../text/characters.ts';

/** The tool that a piece calls: the first of `tools` whose closing tag occurs; null if there is none. */
export function calledTool(piece: string, tools: readonly string[]): string | null {
  return tools.find((tool) => piece.includes(`</${tool}>`)) ?? null;
}

/** The input of the first call of `tool` in a piece, trimmed; '' if its tag was never opened. */
export function callInput(piece: string, tool: string): string {
  const open = piece.indexOf(`<${tool}>`);
  const close = open < 0 ? -1 : piece.indexOf(`</${tool}>`, open);
  return close < 0 ? '' : strip(piece.slice(open + tool.length + 2, close));
}

/** The input of the call of `tool` at the end of a piece, trimmed; '' if its tag was never opened. */
export function lastCallInput(piece: string, tool: string): string {
  const open = piece.lastIndexOf(`<${tool}>`);
  if (open < 0) return '';
  return strip(piece.slice(open + tool.length + 2, piece.lastIndexOf(`</${tool}>`)));
}

/** Where the first call of any of `tools` opens; -1 if there is none. */
export function firstCall(text: string, tools: readonly string[]): number {
  const calls = tools.map((tool) => text.indexOf(`<${tool}>`)).filter((at) => at >= 0);
  return calls.length === 0 ? -1 : Math.min(...calls);
}
