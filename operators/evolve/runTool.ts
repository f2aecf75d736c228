/** Runs the call in a piece of text (ET-Agent §2.1). */
import { messageOf } from '../../base/index.ts';
import { callInput } from '../dialect/calls.ts';
import { isUnanswered } from '../tools/tool.ts';

/**
 * Runs a tool; null = it found nothing. What it throws becomes the text of a failed result, unless the tool
 * is down. `by` names the trajectory that calls, within its question: `<round>/<action>`; `text` is the
 * trajectory up to the call and with it.
 */
export type RunTool = (
  tool: string,
  input: string,
  by: string,
  text: string,
) => Promise<string | null>;

/** Runs the call in a piece and returns its output; '' if the tool found nothing. */
export async function outputOfCall(
  run: (tool: string, input: string) => Promise<string | null>,
  tool: string,
  piece: string,
): Promise<string> {
  try {
    return (await run(tool, callInput(piece, tool))) ?? '';
  } catch (error) {
    if (isUnanswered(error)) throw error;
    return `Tool execute failed: ${messageOf(error)}`;
  }
}
