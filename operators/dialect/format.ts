/**
 * The trajectory grammar: is this text a well-formed trajectory, and if not, what is the first fault?
 *
 * A trajectory thinks in `<think>…</think>`, calls tools in their tags (`<search>…</search>`), reads
 * `<result>…</result>` after each call and ends with `<answer>… \boxed{…} …</answer>`. The checks are those
 * of the published validators (ET-Agent §1.10), in order, with each of the job's tools in place of
 * search and Python; no variant checks that the text between tags is empty or that blocks do not interleave.
 */
import { strip } from '../text/characters.ts';
import type { Variant } from '../text/variant.ts';
import { hasTag, occurrences } from './tags.ts';

/** The first fault of a text; that of a call begins with its tool. */
export type FormatFault =
  | 'malformed-call'
  | 'unpaired-think'
  | 'no-think'
  | 'answer-tag-count'
  | 'start-not-think'
  | 'end-not-answer'
  | `${string}-incomplete`
  | `${string}-order`
  | 'answer-reversed'
  | 'no-box'
  | 'box-count'
  | 'tag-in-answer';

/**
 * The first fault of a trajectory; null if it is well-formed. `tools` are the tags that call a tool, in the
 * order in which they are checked; `selection` is the strict variant.
 */
export function formatFault(
  text: string,
  variant: Variant,
  tools: readonly string[],
): FormatFault | null {
  const strict = variant === 'selection';
  const trajectory = strict ? strip(text) : text;
  return (
    thinkFault(trajectory) ??
    answerTagFault(trajectory) ??
    (strict ? edgeFault(trajectory) : null) ??
    firstToolFault(trajectory, variant, tools) ??
    answerFault(trajectory, strict, tools)
  );
}

/** Whether a trajectory is well-formed. */
export function isWellFormed(text: string, variant: Variant, tools: readonly string[]): boolean {
  return formatFault(text, variant, tools) === null;
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

/** The published validators look for the result of a search from its opening on, in every variant. */
function firstToolFault(
  text: string,
  variant: Variant,
  tools: readonly string[],
): FormatFault | null {
  for (const tool of tools) {
    const fault = toolFault(text, tool, variant !== 'reward' && tool !== 'search');
    if (fault !== null) return fault;
  }
  return null;
}

/**
 * Every call of a tool is closed and has a result after it. The cursor moves on to the closing result tag,
 * so one result may serve the calls of two tools. `resultAfterClose` looks for the result from the
 * call's close tag on, which finds a later one if the call itself contains a result tag.
 */
function toolFault(text: string, tool: string, resultAfterClose: boolean): FormatFault | null {
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

function answerFault(text: string, strict: boolean, tools: readonly string[]): FormatFault | null {
  const open = text.indexOf('<answer>');
  const close = text.indexOf('</answer>');
  if (open > close) return 'answer-reversed';
  const answer = text.slice(open, close);
  if (!answer.includes('\\boxed{') || !answer.includes('}')) return 'no-box';
  if (!strict) return null;
  if (occurrences(answer, '\\boxed{') !== 1) return 'box-count';
  return hasTag(answer, ['think', ...tools]) ? 'tag-in-answer' : null;
}
