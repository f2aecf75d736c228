/** Trajectories in the papers' tags as turns of a chat. */
import { blocks, nextBlock } from '../tags.ts';
import type { ChatTurn } from './chat.ts';

/** The turns of a trajectory, and what follows them: the beginning of a turn that has not ended. */
export interface ChatTurns {
  readonly turns: readonly ChatTurn[];
  readonly rest: string;
}

/**
 * A turn ends with the result of its call, with a call that was not answered, or with the answer; a text that
 * was cut off has a `rest`. A result without a call before it is left out.
 */
export function turnsOf(trajectory: string, tools: readonly string[]): ChatTurns {
  const turns: ChatTurn[] = [];
  let from = 0;
  for (const { inner, start, end } of blocks(trajectory, 'result')) {
    const turn = turnOf(trajectory.slice(from, start), tools, [outputOf(inner)]);
    if (isCalling(turn)) turns.push(turn);
    from = end;
  }
  const cutOff = trajectory.indexOf('<result>', from);
  const last = trajectory.slice(from, cutOff < 0 ? undefined : cutOff);
  const turn = turnOf(last, tools, []);
  if (!last.trimEnd().endsWith('</answer>') && !isCalling(turn)) return { turns, rest: last };
  turns.push(turn);
  return { turns, rest: '' };
}

/** Whether a turn calls, or tries to. */
function isCalling({ calls, content }: ChatTurn): boolean {
  return calls.length > 0 || content.includes('</tool_call>');
}

/** One turn; if there are several calls, the result answers the last one. */
function turnOf(own: string, tools: readonly string[], outputs: readonly string[]): ChatTurn {
  const thinking = blocks(own, 'think').map(({ inner }) => inner.trim());
  const calls = tools
    .flatMap((tool) => blocks(own, tool).map((block) => ({ ...block, tool })))
    .sort((a, b) => a.start - b.start);
  const called = calls.at(-1);
  const spans = [...blocks(own, 'think'), ...calls].sort((a, b) => a.start - b.start);
  const content = without(own, spans).trim();
  const answer = nextBlock(content, 'answer');
  return {
    thinking: thinking.length === 0 ? null : thinking.join('\n'),
    content: answer === null ? content : without(content, [answer], answer.inner.trim()).trim(),
    calls: called === undefined ? [] : [{ tool: called.tool, input: called.inner.trim() }],
    outputs,
  };
}

/** A text without these stretches, which are in order; the last one is replaced. */
function without(
  text: string,
  spans: readonly { readonly start: number; readonly end: number }[],
  put = '',
): string {
  let kept = '';
  let from = 0;
  for (const { start, end } of spans) {
    if (start < from) continue;
    kept += text.slice(from, start) + put;
    from = end;
  }
  return kept + text.slice(from);
}

function outputOf(inner: string): string {
  const content = inner.startsWith('\n') ? inner.slice(1) : inner;
  return content.endsWith('\n') ? content.slice(0, -1) : content;
}
