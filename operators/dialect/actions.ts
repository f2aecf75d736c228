/**
 * The actions of a trajectory: everything except its thinking (ET-Agent §1.5). The rewrite of a whole
 * trajectory writes new thinking around these blocks and keeps them unchanged.
 */
import { Finder } from './tags.ts';

/** An action and where reading continues; `text` null = nothing to emit here. */
interface Step {
  readonly text: string | null;
  readonly next: number;
}

/**
 * The non-thinking blocks in order: a tool call with its result (one space between), and an answer that
 * follows at once; or an answer alone. A call without a result of its own takes the next result anywhere
 * after it, and what is between is lost.
 */
export function splitActions(text: string, tools: readonly string[]): string[] {
  const actions: string[] = [];
  const tags = [...tools, 'answer'];
  const finder = new Finder(text);
  let at = nextOpenTag(finder, tags, 0);
  while (at !== null) {
    const step =
      at.tag === 'answer' ? answerAt(finder, at.start) : callAt(finder, at.tag, at.start);
    if (step.text !== null) actions.push(step.text);
    at = nextOpenTag(finder, tags, step.next);
  }
  return actions;
}

function nextOpenTag(
  finder: Finder,
  tags: readonly string[],
  from: number,
): { tag: string; start: number } | null {
  const found = tags
    .map((tag) => ({ tag, start: finder.find(`<${tag}>`, from) }))
    .filter(({ start }) => start >= 0)
    .sort((a, b) => a.start - b.start);
  return found[0] ?? null;
}

function answerAt(finder: Finder, start: number): Step {
  const block = finder.block('answer', start);
  if (block === null) return { text: null, next: start + 1 };
  return { text: finder.text.slice(start, block.end), next: block.end };
}

function callAt(finder: Finder, tag: string, start: number): Step {
  const { text } = finder;
  const call = finder.block(tag, start);
  if (call === null || finder.find('<result>', call.end) < 0) {
    return { text: null, next: start + 1 };
  }
  const result = finder.block('result', call.end);
  if (result === null) return { text: null, next: call.end };
  const action = `${text.slice(start, call.end)} ${text.slice(result.start, result.end)}`;
  let next = result.end;
  while (next < text.length && ' \t\r\n'.includes(text[next]!)) next++;
  const answer = text.startsWith('<answer>', next) ? finder.block('answer', next) : null;
  if (answer === null) return { text: action, next };
  return { text: `${action} ${text.slice(answer.start, answer.end)}`, next: answer.end };
}
