/**
 * A trajectory cut into its steps (ET-Agent §1.4). A step ends with a `</result>`; what follows the last
 * one is the last step.
 */
import { isBlank, strip } from '../text/characters.ts';

const RESULT_CLOSE = '</result>';

/** The steps that end with a result, as they are in the text. */
export function closedSteps(text: string): string[] {
  return text
    .split(RESULT_CLOSE)
    .slice(0, -1)
    .map((step) => step + RESULT_CLOSE);
}

/** All steps as they are in the text: the closed ones, then the tail unless it is blank. */
export function splitSteps(text: string): string[] {
  const closed = closedSteps(text);
  const tail = afterLastResult(text);
  return isBlank(tail) ? closed : [...closed, tail];
}

/** The text after the last `</result>`; the whole text if there is none. */
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
