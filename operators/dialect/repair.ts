/**
 * Repairs that make supervised data out of nearly well-formed trajectories (ET-Agent §5).
 */
import { stripStart } from '../text/characters.ts';

const BLANKS = ' \n';

/**
 * Puts the thinking tags around an inserted hint right: superfluous `<think>` tags before the hint go, and
 * a hint that follows a result directly gets one. A text without thinking before the hint stays as it is.
 */
export function repairHintPosition(text: string, hint: string): string {
  const found = text.indexOf(hint);
  if (found < 0 || !text.slice(0, found).includes('<think>')) return text;
  const repaired = withoutSuperfluousThink(text, found);
  const hintAt = repaired.indexOf(hint);
  const end = endWithoutBlanks(repaired, hintAt);
  if (!repaired.slice(0, end).endsWith('</result>')) return repaired;
  return `${repaired.slice(0, end)}<think>${repaired.slice(end)}`;
}

/** Deletes the run of `<think>` tags nearest before `hintAt`, unless the nearest one follows a result. */
function withoutSuperfluousThink(text: string, hintAt: number): string {
  const last = text.slice(0, hintAt).lastIndexOf('<think>');
  let start = last;
  let before = text.slice(0, endWithoutBlanks(text, start));
  if (before.endsWith('</result>')) return text;
  while (before.endsWith('<think>')) {
    start = before.length - '<think>'.length;
    before = text.slice(0, endWithoutBlanks(text, start));
  }
  return text.slice(0, start) + text.slice(last + '<think>'.length);
}

/** Where the text before `end` ends when spaces and newlines are not counted. */
function endWithoutBlanks(text: string, end: number): number {
  let at = end;
  while (at > 0 && BLANKS.includes(text[at - 1]!)) at--;
  return at;
}

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
  const closed = text.includes('</answer>')
    ? text
    : `${text.slice(0, endWithoutBlanks(text, text.length))}</answer>`;
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
