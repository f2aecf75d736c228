/**
 * Repairs that make supervised data out of nearly well-formed trajectories (ET-Agent §5).
 */
const BLANKS = ' \n';

/**
 * Repairs the thinking tags around an inserted hint: removes superfluous `<think>` tags before the hint, and
 * adds one to a hint that directly follows a result. A text without thinking before the hint stays as it is.
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

/** The end of the text before `end`, without trailing spaces and newlines. */
function endWithoutBlanks(text: string, end: number): number {
  let at = end;
  while (at > 0 && BLANKS.includes(text[at - 1]!)) at--;
  return at;
}
