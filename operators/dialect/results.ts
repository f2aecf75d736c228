/**
 * The result blocks of a trajectory: what tools answered, which answers were failures, and the text
 * without them.
 */
import { blocks, occurrences, withoutBlocks } from './tags.ts';

/** The content of every closed result block. */
export function resultBlocks(text: string): string[] {
  return blocks(text, 'result').map((block) => block.inner);
}

/** Whether a result shows a failed call: empty, timed out, failed, or with the word "error" in it. */
export function isFailedResult(result: string): boolean {
  return (
    result === '' ||
    result.includes('Execution Timeout') ||
    result.includes('Tool execute failed') ||
    result.toLowerCase().includes('error')
  );
}

/** Number of result blocks that show a failed call. */
export function countFailedResults(text: string): number {
  return resultBlocks(text).filter(isFailedResult).length;
}

/**
 * The trajectory with its results emptied: what the policy wrote, and where a tool answered. A result that
 * was cut off is left out, and nothing follows it. A reader of this text alone cannot be influenced by a
 * tool.
 */
export function withEmptyResults(text: string): string {
  return mapResults(text, () => '');
}

/** The trajectory with its results replaced; `put` gets the content of each, and its index from 0. */
export function mapResults(text: string, put: (inner: string, place: number) => string): string {
  let mapped = '';
  let from = 0;
  for (const [place, { inner, start, end }] of blocks(text, 'result').entries()) {
    mapped += `${text.slice(from, start)}<result>${put(inner, place)}</result>`;
    from = end;
  }
  const cutOff = text.indexOf('<result>', from);
  return mapped + (cutOff < 0 ? text.slice(from) : text.slice(from, cutOff));
}

/**
 * Whether every result answers a call: each is closed, and as many calls have ended by then. In any other
 * text results were made up, and their author is unknown.
 */
export function resultsFollowCalls(text: string, tools: readonly string[]): boolean {
  let open = 0;
  let from = 0;
  for (const { start, end } of blocks(text, 'result')) {
    const between = text.slice(from, start);
    open += tools.reduce((sum, tool) => sum + occurrences(between, `</${tool}>`), 0) - 1;
    if (open < 0) return false;
    from = end;
  }
  return !text.slice(from).includes('<result>');
}

/** The text without its closed result blocks. */
export function withoutResults(text: string): string {
  return withoutBlocks(text, 'result');
}
