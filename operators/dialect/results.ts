/**
 * The result blocks of a trajectory: what tools answered, which answers were failures, and the text
 * without them.
 */
import { blocks, withoutBlocks } from './tags.ts';

/** The content of every closed result block. */
export function resultBlocks(text: string): string[] {
  return blocks(text, 'result').map((block) => block.inner);
}

/** Whether a result tells of a failed call: empty, timed out, failed, or with the word "error" in it. */
export function isFailedResult(result: string): boolean {
  return (
    result === '' ||
    result.includes('Execution Timeout') ||
    result.includes('Tool execute failed') ||
    result.toLowerCase().includes('error')
  );
}

/** Number of result blocks that tell of a failed call. */
export function countFailedResults(text: string): number {
  return resultBlocks(text).filter(isFailedResult).length;
}

/** The text without its closed result blocks. */
export function withoutResults(text: string): string {
  return withoutBlocks(text, 'result');
}
