/**
 * A trajectory cut into its steps (ET-Agent §1.4). A step ends with a `</result>`; what follows the last
 * one is the last step. A log piece is finer: a call and its result are two pieces.
 */
import { isBlank, strip } from '../text/characters.ts';

const RESULT_CLOSE = '</result>';

/** The steps that end with a result, as they stand in the text. */
export function closedSteps(text: string): string[] {
  return text
    .split(RESULT_CLOSE)
    .slice(0, -1)
    .map((step) => step + RESULT_CLOSE);
}

/** All steps as they stand in the text: the closed ones, then the tail unless it is blank. */
export function splitSteps(text: string): string[] {
  const closed = closedSteps(text);
  const tail = afterLastResult(text);
  return isBlank(tail) ? closed : [...closed, tail];
}

/** The text after the last `</result>`; the whole text when there is none. */
export function afterLastResult(text: string): string {
  return text.slice(tailStart(text));
}

function tailStart(text: string): number {
  const last = text.lastIndexOf(RESULT_CLOSE);
  return last < 0 ? 0 : last + RESULT_CLOSE.length;
}

/** The steps with their numbers, as a judge reads them: `#### Step 1: …`. */
export function numberedSteps(text: string): string {
  return strip(
    splitSteps(text)
      .map((step, index) => `#### Step ${index + 1}: ${strip(step)}`)
      .join('\n'),
  );
}

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
