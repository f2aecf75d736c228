/**
 * The trajectory grammar: is this text a well-formed trajectory, and if not, what is the first fault?
 *
 * A trajectory thinks in `<think>…</think>`, calls tools in `<search>…</search>` and `<python>…</python>`,
 * reads `<result>…</result>` after each call and ends with `<answer>… \boxed{…} …</answer>`. The checks are
 * those of the published validators (ET-Agent §1.10), in their order; no dialect checks that the text
 * between tags is empty or that blocks do not interleave.
 */
import { strip } from './characters.ts';
import type { Dialect } from './dialect.ts';
import { occurrences } from './tags.ts';

/** The first fault of a text. */
export type FormatFault =
  | 'unpaired-think'
  | 'no-think'
  | 'answer-tag-count'
  | 'start-not-think'
  | 'end-not-answer'
  | 'search-incomplete'
  | 'search-order'
  | 'python-incomplete'
  | 'python-order'
  | 'answer-reversed'
  | 'no-box'
  | 'box-count'
  | 'tag-in-answer';

/** The first fault of a trajectory; null when it is well-formed. `selection` is the strict dialect. */
export function formatFault(text: string, dialect: Dialect = 'reward'): FormatFault | null {
  const strict = dialect === 'selection';
  const trajectory = strict ? strip(text) : text;
  return (
    thinkFault(trajectory) ??
    answerTagFault(trajectory) ??
    (strict ? edgeFault(trajectory) : null) ??
    toolFault(trajectory, 'search', false) ??
    toolFault(trajectory, 'python', dialect !== 'reward') ??
    answerFault(trajectory, strict)
  );
}

/** Whether a trajectory is well-formed. */
export function isWellFormed(text: string, dialect: Dialect = 'reward'): boolean {
  return formatFault(text, dialect) === null;
}

function thinkFault(text: string): FormatFault | null {
  const opened = occurrences(text, '<think>');
  if (opened !== occurrences(text, '</think>')) return 'unpaired-think';
  return opened === 0 ? 'no-think' : null;
}

function answerTagFault(text: string): FormatFault | null {
  const once = occurrences(text, '<answer>') === 1 && occurrences(text, '</answer>') === 1;
  return once ? null : 'answer-tag-count';
}

function edgeFault(text: string): FormatFault | null {
  if (!text.startsWith('<think>')) return 'start-not-think';
  return text.endsWith('</answer>') ? null : 'end-not-answer';
}

/**
 * Every call of a tool is closed and has a result after it. The cursor moves on to the closing result tag,
 * so one result may serve a search and a python call. `resultAfterClose` looks for the result from the
 * call's close tag on, which finds a later one where the call itself contains a result tag.
 */
function toolFault(
  text: string,
  tool: 'search' | 'python',
  resultAfterClose: boolean,
): FormatFault | null {
  let cursor = 0;
  for (;;) {
    const open = text.indexOf(`<${tool}>`, cursor);
    if (open < 0) return null;
    const close = text.indexOf(`</${tool}>`, open);
    const result = text.indexOf('<result>', resultAfterClose ? close : open);
    const resultClose = text.indexOf('</result>', result);
    if (close < 0 || result < 0 || resultClose < 0) return `${tool}-incomplete`;
    if (!(close < result && result < resultClose)) return `${tool}-order`;
    cursor = resultClose;
  }
}

function answerFault(text: string, strict: boolean): FormatFault | null {
  const open = text.indexOf('<answer>');
  const close = text.indexOf('</answer>');
  if (open > close) return 'answer-reversed';
  const answer = text.slice(open, close);
  if (!answer.includes('\\boxed{') || !answer.includes('}')) return 'no-box';
  if (!strict) return null;
  if (occurrences(answer, '\\boxed{') !== 1) return 'box-count';
  return /<\/?(?:think|python|search)>/.test(answer) ? 'tag-in-answer' : null;
}
