/**
 * A trajectory in text as tokens, as in a rollout: a tool's words are encoded without tags, so that they
 * cannot pass for the policy's own text, and each result block separately.
 *
 * Text does not say who wrote it: a tool that writes the closing tag of its own block ends it here, and what
 * follows counts as the policy's. If a result may be hostile, remove the tag before it becomes text.
 */
import type { Tokenizer } from '../../model/index.ts';

/** A block with the spaces that belong to its tags; the last one may be open. */
const BLOCK = /( ?<result>\n?)([\s\S]*?)(\n?<\/result>|$)/g;

export function encodeTrajectory(tokenizer: Tokenizer, text: string): Int32Array {
  const tokens: number[] = [];
  const add = (piece: string, tags: boolean) => {
    if (piece !== '') tokens.push(...tokenizer.encode(piece, { tags }));
  };
  let at = 0;
  for (const { index, 0: whole, 1: open, 2: output, 3: close } of text.matchAll(BLOCK)) {
    add(text.slice(at, index), true);
    add(open!, true);
    add(output!, false);
    add(close!, true);
    at = index + whole.length;
  }
  add(text.slice(at), true);
  return Int32Array.from(tokens);
}
