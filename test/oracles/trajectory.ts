/**
 * What the published code does with trajectories and no job of ours does: tags around plain solutions, calls
 * in fences, the policy's own text.
 */
import { withoutResults } from '../../operators/dialect/results.ts';
import { countToolCalls } from '../../operators/dialect/tags.ts';
import { stripEnd, stripStart } from '../../operators/text/characters.ts';

const BLANKS = ' \n';

/**
 * Turns a plain solution that uses one tool into the trajectory grammar: the line of the last box becomes
 * the answer, everything else becomes thinking around the tool's calls. Null when no line can be the answer.
 */
export function tagSolution(text: string, tool: string): string | null {
  const answered = withAnswerBlock(text);
  if (answered === null) return null;
  const opened = stripStart(answered).startsWith('<think>') ? answered : `<think>${answered}`;
  const closed = closeThinkingBefore(closeThinkingBefore(opened, '<answer>'), `<${tool}>`);
  return withoutEmptyThinking(openThinkingAfterResults(closed));
}

/** Deletes empty thinking, and what becomes empty by that. */
function withoutEmptyThinking(text: string): string {
  let shorter = text;
  while (shorter.includes('<think></think>')) shorter = shorter.replaceAll('<think></think>', '');
  return shorter;
}

function withAnswerBlock(text: string): string | null {
  const closed = text.includes('</answer>') ? text : `${stripEnd(text)}</answer>`;
  if (closed.includes('<answer>')) return closed;
  const box = closed.lastIndexOf('\\boxed');
  const from = box >= 0 ? box : endWithoutBlanks(closed, closed.lastIndexOf('</answer>'));
  const lineStart = closed.slice(0, from).lastIndexOf('\n');
  if (lineStart < 0) return null;
  return `${closed.slice(0, lineStart + 1)}<answer>${closed.slice(lineStart + 1)}`;
}

/** Puts `</think>` before every `tag`, right behind the text that precedes it. */
function closeThinkingBefore(text: string, tag: string): string {
  let result = '';
  let from = 0;
  for (let at = text.indexOf(tag); at >= 0; at = text.indexOf(tag, at + tag.length)) {
    const end = Math.max(from, endWithoutBlanks(text, at));
    result += `${text.slice(from, end)}</think>`;
    from = end;
  }
  return result + text.slice(from);
}

/** Puts `<think>` after every result and the blanks behind it. */
function openThinkingAfterResults(text: string): string {
  return text.replace(/<\/result>[ \n]*/g, (close) => `${close}<think>`);
}

/** Where the text before `end` ends when spaces and newlines are not counted. */
function endWithoutBlanks(text: string, end: number): number {
  let at = end;
  while (at > 0 && BLANKS.includes(text[at - 1]!)) at--;
  return at;
}

/**
 * What the policy wrote itself, for counting its length: no result blocks, nothing after an unclosed one,
 * and no stray result tags.
 */
export function thinkingText(text: string): string {
  return withoutResults(text)
    .replace(/<result>.*$/s, '')
    .replace(/<\/?(?:result|information)>/g, '');
}

/** Number of tool calls, those in fenced Python included. */
export function countCallsWithFences(text: string, tools: readonly string[]): number {
  const fenced = text.match(/```python.*?```/gs) ?? [];
  return countToolCalls(text, tools) + fenced.length;
}
