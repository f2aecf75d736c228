/**
 * Tool calls in plain text: which tool a piece calls, with what, and its result block (ET-Agent §2.1, §4.3).
 */
import { strip } from '../text/characters.ts';

/**
 * Runs a tool; null = it found nothing. What it throws becomes the text of a failed result. `by` names the trajectory
 * that calls, within its question: `<round>/<action>`.
 */
export type RunTool = (tool: string, input: string, by: string) => Promise<string | null>;

/** How a tool's output stands in a trajectory. */
export type ResultBlock = (output: string) => string;

/** Without separators, as text trajectories have it. */
export const plainBlock: ResultBlock = (output) => `<result>${output}</result>`;

/** The tool that a piece calls: the first of `tools` whose closing tag occurs; null when there is none. */
export function calledTool(piece: string, tools: readonly string[]): string | null {
  return tools.find((tool) => piece.includes(`</${tool}>`)) ?? null;
}

/** What the call of `tool` in a piece says, stripped; '' for a tag that was never opened. */
export function callInput(piece: string, tool: string): string {
  const open = piece.indexOf(`<${tool}>`);
  const close = open < 0 ? -1 : piece.indexOf(`</${tool}>`, open);
  return close < 0 ? '' : strip(piece.slice(open + tool.length + 2, close));
}

/** Runs the call in a piece and gives its output; '' when the tool found nothing. */
export async function outputOfCall(
  run: (tool: string, input: string) => Promise<string | null>,
  tool: string,
  piece: string,
): Promise<string> {
  try {
    return (await run(tool, callInput(piece, tool))) ?? '';
  } catch (error) {
    return `Tool execute failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * A tool's output that cannot speak for the policy: the tags of a trajectory in it are broken by a space
 * (`</result>` becomes `< /result>`).
 */
export function withoutTags(output: string, tools: readonly string[]): string {
  const names = ['think', 'result', 'answer', ...tools].join('|');
  return output.replace(new RegExp(`<(/?(?:${names})>)`, 'g'), '< $1');
}
