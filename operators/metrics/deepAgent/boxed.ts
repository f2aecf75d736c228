/**
 * The final answer as DeepAgent's evaluation takes it (§4.3), in its two forms. `whole` (questions of
 * knowledge and mathematics): from the first `\boxed{` to the last brace of the output. `last` (ToolHop):
 * from the last `\boxed{` to the first brace after it. Without a box, the text after `ANSWER:`.
 *
 * Both misread what nests or comes twice; `lastBoxed` (base/text/boxed.ts) is the reading that counts braces.
 */

/** See above. */
export type DeepAgentBox = 'whole' | 'last';

const BOX = '\\boxed{';
const ANSWER = 'ANSWER:';

/** The answer; null if there is none. */
export function deepAgentAnswer(output: string, form: DeepAgentBox): string | null {
  const at = form === 'whole' ? output.indexOf(BOX) : output.lastIndexOf(BOX);
  if (at >= 0) {
    const from = at + BOX.length;
    const to = form === 'whole' ? output.lastIndexOf('}') : output.indexOf('}', from);
    if (to >= from) return output.slice(from, to);
  }
  const marked = output.lastIndexOf(ANSWER);
  return marked < 0 ? null : trimmedAnswer(output.slice(marked + ANSWER.length));
}

/** Outer asterisks go first and white space after, so a space outside keeps the asterisks after it. */
function trimmedAnswer(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && text[from] === '*') from++;
  while (to > from && text[to - 1] === '*') to--;
  return text.slice(from, to).trim();
}
