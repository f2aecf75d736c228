/**
 * The reasoning so far, shortened for a summariser: the first step, the last four, and searches with their
 * results; Python steps go first (ET-Agent §2.5).
 */

const WHOLE_MAX = 5;
const LAST_KEPT = 4;

/**
 * The log pieces, numbered and separated by blank lines; each omitted run becomes one `...`. Throws if there
 * are none.
 */
export function priorReasoning(logs: readonly string[]): string {
  if (logs.length === 0) throw new Error('no log piece to shorten: call this after the first step');
  const steps = logs.map((log, index) => `Step ${index + 1}: ${log}`);
  if (steps.length <= WHOLE_MAX) return withoutOuterNewlines(steps.join('\n\n'));
  const parts: string[] = [];
  steps.forEach((step, index) => {
    if (isKept(steps, index)) parts.push(step);
    else if (parts.at(-1) !== '...') parts.push('...');
  });
  return withoutOuterNewlines(parts.join('\n\n'));
}

function isKept(steps: readonly string[], index: number): boolean {
  if (index === 0 || index >= steps.length - LAST_KEPT) return true;
  const step = steps[index]!;
  if (step.includes('<search>') && step.includes('</search>')) return true;
  const isResult = step.includes('<result>') && step.includes('</result>');
  return isResult && steps[index - 1]!.includes('<search>');
}

/** Scans from both ends: a pattern would be quadratic here. */
function withoutOuterNewlines(text: string): string {
  let [from, to] = [0, text.length];
  while (text[from] === '\n') from++;
  while (to > from && text[to - 1] === '\n') to--;
  return text.slice(from, to);
}
