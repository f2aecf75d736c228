/**
 * Tool-Star's back-tracer (ARPO reference §4.5): a text up to the thought before its last call of a tool.
 *
 * `sentence` is the variant that its evaluation runs with, `line` the other one in its code. A text without
 * a call stays as it is.
 */

const THOUGHT = '</think>';

/** See above. */
export function beforeCall(text: string, tool: string, how: 'sentence' | 'line'): string {
  const call = text.lastIndexOf(`<${tool}>`);
  if (call < 0) return text;
  return how === 'sentence' ? upToSentence(text, call) : upToLine(text, call);
}

/** Up to the last `. ` or line break before the call and the end of thinking that touches it. */
function upToSentence(text: string, call: number): string {
  const touches = text.slice(0, call).endsWith(THOUGHT);
  let end = withoutSpace(text, touches ? call - THOUGHT.length : call);
  for (; end > 0; end--) {
    if (text[end - 1] === '\n' || text.slice(Math.max(0, end - 2), end) === '. ') break;
  }
  return text.slice(0, end);
}

/** Up to the last line break before the call and the end of thinking before it. */
function upToLine(text: string, call: number): string {
  let end = withoutSpace(text, call);
  if (text.slice(0, end).endsWith(THOUGHT)) end = withoutSpace(text, end - THOUGHT.length);
  return text.slice(0, text.slice(0, end).lastIndexOf('\n') + 1);
}

/** Back over spaces and line breaks. */
function withoutSpace(text: string, from: number): number {
  let end = from;
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\n')) end--;
  return end;
}
