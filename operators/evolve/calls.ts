/**
 * Tool calls in plain text: which tool a piece calls, with what, and its result block (ET-Agent §2.1, §4.3).
 */
import { strip } from '../text/characters.ts';

/** Runs a tool; null = it found nothing. What it throws becomes the text of a failed result. */
export type RunTool = (tool: string, input: string) => Promise<string | null>;

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

/** Runs the call in a piece; its result block, without separators as text trajectories have it. */
export async function resultOfCall(run: RunTool, tool: string, piece: string): Promise<string> {
  return `<result>${(await outputOf(run, tool, callInput(piece, tool))) ?? ''}</result>`;
}

async function outputOf(run: RunTool, tool: string, input: string): Promise<string | null> {
  try {
    return await run(tool, input);
  } catch (error) {
    return `Tool execute failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}
