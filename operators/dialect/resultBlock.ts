/**
 * The result block: how a tool's output enters a trajectory (ET-Agent §1.1). A rollout's form is that of RL:
 * a space, the tag, a newline, the text, a newline, the closing tag.
 */
import type { Tokenizer } from '../../model/index.ts';

/** What a rollout puts before a tool's output. */
export const RESULT_OPEN = ' <result>\n';
/** What it puts after it. */
export const RESULT_CLOSE = '\n</result>';

/** How a tool's output appears in a trajectory. */
export type ResultBlock = (output: string) => string;

/** The tags alone, as in text trajectories. */
export const plainBlock: ResultBlock = (output) => `<result>${output}</result>`;

/** The tags with the separators that a rollout puts there. */
export function resultBlock(output: string): string {
  return `${RESULT_OPEN}${output}${RESULT_CLOSE}`;
}

/** The block as tokens; tags in the output are plain text to the policy. */
export function resultTokens(tokenizer: Tokenizer, output: string): Int32Array {
  return Int32Array.from([
    ...tokenizer.encode(RESULT_OPEN),
    ...tokenizer.encode(output, { tags: false }),
    ...tokenizer.encode(RESULT_CLOSE),
  ]);
}
