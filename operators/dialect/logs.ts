/**
 * A trajectory in the pieces in which it was made (ET-Agent §1.4): each step up to its call, then the result.
 */
import { strip } from '../text/characters.ts';

const RESULT_CLOSE = '</result>';

/** The log pieces: cut after every result, then after the last tool call inside each piece. */
export function splitLogs(text: string, tools: readonly string[]): string[] {
  return text
    .split(RESULT_CLOSE)
    .map((piece, index, all) => strip(index < all.length - 1 ? piece + RESULT_CLOSE : piece))
    .flatMap((piece) => cutAfterLastCall(piece, tools))
    .filter((piece) => piece !== '');
}

function cutAfterLastCall(piece: string, tools: readonly string[]): string[] {
  const end = Math.max(...tools.map((tool) => endOfLast(piece, `</${tool}>`)));
  return end < 0 ? [piece] : [strip(piece.slice(0, end)), strip(piece.slice(end))];
}

function endOfLast(text: string, part: string): number {
  const at = text.lastIndexOf(part);
  return at < 0 ? -1 : at + part.length;
}
