/**
 * `hermes` (Qwen2.5, Qwen3, Hermes): `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, any number of
 * them.
 */
import { callFrom, fault, type ToolSpec } from '../toolCalls.ts';
import type { Piece } from './form.ts';

const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';

/** A turn in pieces. */
export function hermes(text: string, tools: readonly ToolSpec[]): readonly Piece[] {
  const pieces: Piece[] = [];
  const put = (piece: string, call: Piece['call']): void => {
    if (piece !== '') pieces.push({ text: piece, call });
  };
  let at = 0;
  for (;;) {
    const open = text.indexOf(OPEN, at);
    if (open < 0) break;
    put(text.slice(at, open), null);
    const close = text.indexOf(CLOSE, open);
    if (close < 0) {
      put(text.slice(open), fault('', `a call ends with ${CLOSE}`));
      return pieces;
    }
    at = close + CLOSE.length;
    put(text.slice(open, at), callFrom(text.slice(open + OPEN.length, close), tools));
  }
  put(text.slice(at), null);
  return pieces;
}
